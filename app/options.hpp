// What a deck asks of layout, pipelines, adaptation, faults, optimizer and devices, as the options that these take. (Files,
// data and checkpoints: training_run.cpp.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/transport/transports.hpp"
#include "io/deck/deck.hpp"
#include "io/deck/model_sizes.hpp"
#include "kernels/cuda_device.hpp"
#include "kernels/emulated_device.hpp"
#include "parallel/replica/emulated_replica.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/replica/pipeline_context.hpp"
#include "resilience/adaptation/adaptation_controller.hpp"
#include "resilience/faults/link_faults.hpp"

namespace tenax::app {

model::GptConfig gpt_config(const io::ModelSizes& sizes, kernels::DType compute_dtype);
model::GptConfig gpt_config(const io::ModelSection& section);

/// The share of pipeline `data_rank` in each step's batch.
parallel::BatchPlan batch_plan(const io::Deck& deck, int data_rank);
const parallel::Optimizer& optimizer_of(const io::Deck& deck);
parallel::LayoutRequest layout_request(const io::Deck& deck);
/// parallel::plan_layout of layout_request().
parallel::Layout plan_layout(const io::Deck& deck, double flop_per_second, const parallel::MemoryRoom& room);

parallel::PipelineOptions pipeline_options(const io::Deck& deck);
resilience::AdaptationSettings adaptation_settings(const io::Deck& deck);
std::vector<resilience::FaultRequest> fault_requests(const io::Deck& deck);

/// `learning_rate`: of this update, the `number`-th from 1. `tokens`: of the global batch.
kernels::UpdateRule update_rule(const io::OptimizerSection& section, double learning_rate, double tokens,
                                std::int64_t number);

comm::TransportKind transport_kind(io::TransportKind kind);
kernels::CudaOptions cuda_options(const io::Deck& deck, int index);
kernels::EmulatedOptions emulated_device_options(const io::Deck& deck, int rank);
parallel::EmulatedReplica::Options emulated_replica_options(const io::Deck& deck);

}  // namespace tenax::app
