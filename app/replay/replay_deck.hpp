// The deck of a replay: that of the run that wrote a checkpoint, but for what could make its steps
// differ from run to run, or would touch that run's files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_info.hpp"
#include "io/deck/deck.hpp"

namespace tenax::app {

/// `overrides` of the deck that the checkpoint holds, as training takes them, but for relative files, which are in the
/// working directory; `scratch`: a folder for
/// a file. Throws Error(rank) for a checkpoint without a deck, or with one that this tenax cannot
/// read, Error(usage) for an override that is wrong.
io::Deck deck_of_checkpoint(const std::filesystem::path& checkpoint, const io::CheckpointInfo& info,
                            const std::vector<std::string>& overrides, const std::filesystem::path& scratch);

/// `steps` steps on from the checkpoint, by one replica, with deterministic kernels; everything is
/// written to `folder`. Of the faults that the deck injects flipped bits alone stay, those of replica 0.
io::Deck replay_deck(io::Deck deck, const std::filesystem::path& checkpoint, const io::CheckpointInfo& info,
                     std::int64_t steps, const std::filesystem::path& folder);

}  // namespace tenax::app
