// How a run begins: fresh, resumed, or already finished.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/deck.hpp"

namespace tenax::app {

struct RunStart {
  bool finished = false;             ///< the run directory holds a completed run of at least train_steps
  std::int64_t steps = 0;            ///< of the finished run
  std::filesystem::path checkpoint;  ///< to resume from; empty = start fresh
};

/// Rank 0's decision, from deck.run.resume and what the directories hold. Touches nothing. Throws Error(rank) if a
/// finished run there is another model's.
RunStart decide_start(const io::Deck& deck);

/// One sentence for each setting that may change on resume, and has.
std::vector<std::string> changed_settings(const io::Deck& now, const std::string& checkpoint_deck);

}  // namespace tenax::app
