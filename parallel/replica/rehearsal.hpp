// What a rank does once before its memory is planned: it makes and uses the groups that it will talk in, and runs the
// operations of its stage, in memory that it gives back. Then libraries have loaded what they need and taken what they keep,
// algorithms are chosen, and what the device has left is the run's.
#pragma once

#include "comm/prepared_world.hpp"
#include "parallel/layout/process_grid.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/replica/pipeline_context.hpp"

namespace tenax::parallel {

/// Collective. The communicators and direct links of a GptReplica on `grid`, which gets them from `world`. `paths` and
/// `deadline_s`: the deck's.
///
/// Every rank then lends as many multiprocessors as the one that lends most. Products are planned for the rest, so
/// that a stage keeps its bits on whichever rank it is.
void prepare_groups(comm::PreparedWorld& world, const LayoutRequest& request, const ProcessGrid& grid,
                    PathChoice paths, kernels::Device& device, double deadline_s);

/// One block of pipeline stage `stage`, with the embedding and the head where that has them: a forward and two
/// backward passes of a microbatch of random numbers, and an update. So it meets every shape of product that the
/// stage will, if that has the same `habits`. Of tensor-parallel ranks each sums for itself. Throws Error(rank)
/// when the device has no memory for it.
void rehearse_stage(const LayoutRequest& request, int stage, const ComputeHabits& habits,
                    kernels::Device& device, double deadline_s);

}  // namespace tenax::parallel
