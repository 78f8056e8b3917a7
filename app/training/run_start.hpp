// How a run begins: fresh, resumed, or already finished.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/deck/deck.hpp"
#include "resilience/checkpoint/checkpoint_search.hpp"

namespace tenax::app {

struct RunStart {
  bool finished = false;   ///< the run directory holds a completed run of at least train_steps
  std::int64_t steps = 0;  ///< done before
  std::unique_ptr<resilience::CheckpointReader> checkpoint;  ///< to resume from, verified; null = start fresh
  std::vector<resilience::PassedOver> passed_over;           ///< newer ones that are not complete; on rank 0
};

/// What the run directory's deck.toml says; nothing if there is none that can be read.
std::optional<io::Deck> deck_of_directory(const io::Deck& deck);

/// Collective: how the run begins, by deck.run.resume and what the directories hold, as rank 0 sees
/// them. Touches nothing. `group` must outlive the checkpoint's reader. "auto" takes one of more than `after_step` steps. Throws
/// comm::AgreedError if a finished run there is another model's, or has lost its checkpoints, or if a
/// run has its checkpoints in another directory by its deck.toml; resilience::UnreadableCheckpoint.
RunStart decide_start(comm::ControlGroup& group, const io::Deck& deck, std::int64_t after_step = -1,
                      const resilience::Verification& verification = {});

/// One sentence for each setting that may change on resume, and has.
std::vector<std::string> changed_settings(const io::Deck& now, const std::string& checkpoint_deck);

/// The first sample that a checkpoint's steps have not had. Where it does not say so, each step had the global batch of
/// its deck; throws kernels::Error where that is another version's.
std::int64_t next_sample_of(const io::CheckpointInfo& info);

/// The sentences of changed_settings() with what follows from them: another global batch begins with `next_sample`.
std::vector<std::string> changes_on_resume(const io::Deck& now, const std::string& checkpoint_deck,
                                           std::int64_t next_sample);

/// A sentence where the data files are others than the checkpoint's, though the deck names them as it did then.
/// `data_checksum`: of those that are there now. Empty if they are the same, or not known.
std::string changed_files(const io::Deck& now, const io::CheckpointInfo& info,
                          const std::string& data_checksum);

/// A sentence that names those of an optimizer's moments that a checkpoint lacks. Empty if it
/// has them all.
std::string missing_moments(const io::CheckpointInfo& info, const std::vector<std::string>& moments);

}  // namespace tenax::app
