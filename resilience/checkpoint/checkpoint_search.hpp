// Which checkpoint of a directory a run goes on from.
#pragma once

#include <cstdint>
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
/// the seal, then every byte. Those of no more than `after_step` steps are as if they were not there. Collective. `group` must
/// outlive the reader. Throws comm::AgreedError where there are checkpoints and none is complete; UnreadableCheckpoint where
/// the directory or one of them cannot be read: it may be the newest complete one.
FoundCheckpoint find_checkpoint(comm::ControlGroup& group, const std::filesystem::path& directory,
                                std::int64_t after_step = -1, const Verification& verification = {});

}  // namespace tenax::resilience
