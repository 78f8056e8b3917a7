// The weights a run starts from when it does not resume.
#pragma once

#include <vector>

#include "io/deck.hpp"
#include "io/state_range.hpp"
#include "kernels/device.hpp"
#include "model/gpt_config.hpp"
#include "parallel/training_state.hpp"

namespace tenax::app {

/// The training state of this rank as the ranges that checkpoints move: views of the state's memory. Only for states
/// kept in fp32 host memory.
std::vector<io::StateRange> state_ranges(const parallel::TrainingState& state);

/// GPT-2's initialisation: a weight depends on (seed, name, logical index), whatever the layout. Moments are zeroed.
void initialise(const parallel::TrainingState& state, const model::GptConfig& config, std::uint64_t seed);

/// Overwrites the weights with those of a Hugging Face GPT-2 file. Throws Error(rank) if it is another model's.
void load_initial_weights(const parallel::TrainingState& state, const io::ModelSection& section);

}  // namespace tenax::app
