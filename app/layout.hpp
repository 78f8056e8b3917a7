// Layout: how a deck's model is spread over ranks: what `tenax plan` prints and what training builds. Pure.
#pragma once

#include <vector>

#include "io/deck.hpp"
#include "model/gpt_config.hpp"
#include "model/gpt_stage.hpp"
#include "parallel/batch_plan.hpp"
#include "parallel/pipeline_costs.hpp"
#include "parallel/pipeline_schedule.hpp"
#include "parallel/process_grid.hpp"
#include "parallel/training_state.hpp"

namespace tenax::app {

model::GptConfig gpt_config(const io::ModelSection& section);

/// Memory of one rank of a stage, bytes.
struct RankMemory {
  parallel::StateMemory state;
  std::size_t activations = 0;  ///< all slots
  std::size_t scratch = 0;
  int slots = 0;
  std::size_t total() const { return state.total() + activations + scratch; }
};

/// Bytes that one rank sends in a step, per kind of link.
struct StepTraffic {
  double tensor = 0, pipeline = 0, data = 0;
};

struct Layout {
  model::GptConfig config;
  parallel::GridShape grid;
  model::MicrobatchShape microbatch;
  int microbatches = 0;  ///< of each pipeline
  std::vector<model::StageSpan> spans;
  std::vector<std::int64_t> parameters_of_stage;  ///< of one rank
  bool has_data = true;                           ///< false: the emulated device's
  parallel::PipelineCosts costs;    ///< predicted, at `flop_per_second` a rank; or the deck's own
  parallel::ActivationLimit limit;  ///< of the schedule, and of every later one
  parallel::PipelineSchedule schedule;
  std::vector<RankMemory> memory_of_stage;
  std::vector<StepTraffic> traffic_of_stage;
};

/// What follows from the deck's sizes alone: model, grid, microbatches.
Layout begin_layout(const io::Deck& deck);

/// flop_per_second: the matrix-product rate of one rank. device_memory_bytes: what one rank may fill; bounds the
/// activations when the deck's activation_limit is 0. Throws Error(usage) for what the deck cannot have.
Layout plan_layout(const io::Deck& deck, double flop_per_second, std::size_t device_memory_bytes);

}  // namespace tenax::app
