// The weights a run starts from when it does not resume.
#pragma once

#include <functional>
#include <vector>

#include "comm/control_group.hpp"
#include "io/checkpoint/checkpoint_info.hpp"
#include "io/deck/deck.hpp"
#include "io/state_range.hpp"
#include "model/gpt_config.hpp"
#include "parallel/state/state_mirror.hpp"

namespace tenax::app {

/// The training state of this rank as the ranges that checkpoints move: views of the mirror's
/// memory. Only for states kept in fp32.
std::vector<io::StateRange> state_ranges(const parallel::StateMirror& state);

/// GPT-2's initialisation: a weight depends on (seed, name, logical index), whatever the
/// layout. Moments are zeroed. Neither stores the mirror. `threads` share the work (1.5 billion
/// weights take one thread a minute); the calling one tells `progress` now and then which part
/// of it, of 1, is done.
void initialise(const parallel::StateMirror& state, const model::GptConfig& config, std::uint64_t seed,
                int threads = 1, const std::function<void(double)>& progress = {});

/// Overwrites the weights with those of section.init_weights, a Hugging Face GPT-2. Throws
/// Error(rank) if it is another model's.
void load_initial_weights(const parallel::StateMirror& state, const io::ModelSection& section);
/// Collective. The same for a checkpoint of tenax, of which moments and step are left aside;
/// verifies it. A failure on any rank is thrown on all.
io::CheckpointInfo load_initial_checkpoint(comm::ControlGroup& control, const parallel::StateMirror& state,
                                           const io::ModelSection& section);

}  // namespace tenax::app
