// Which checkpoint of a directory a run goes on from.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "resilience/checkpoint/checkpoint_restore.hpp"

namespace tenax::resilience {

struct PassedOver {
  std::string name;    ///< the file's
  std::string reason;  ///< why it is not complete, as a sentence that names the file
};

struct FoundCheckpoint {
  std::unique_ptr<CheckpointReader> checkpoint;  ///< verified; null if the directory holds none
  std::vector<PassedOver> passed_over;           ///< newer ones, the newest first; on rank 0 alone
};

/// The newest complete checkpoint of `directory`, which rank 0 lists: from the newest back, first
/// the seal, then every byte. Collective. `group` must outlive the reader. Throws comm::AgreedError
/// where there are checkpoints and none is complete.
FoundCheckpoint find_checkpoint(comm::ControlGroup& group, const std::filesystem::path& directory);

}  // namespace tenax::resilience
