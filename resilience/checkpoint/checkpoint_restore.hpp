// Loading a checkpoint into any layout, by all ranks together.
#pragma once

#include <filesystem>
#include <span>

#include "comm/control_group.hpp"
#include "io/checkpoint/checkpoint_info.hpp"

namespace tenax::resilience {

/// A checkpoint whose every byte has been verified, the ranks sharing the work. All calls are
/// collective; a failure on any rank is thrown on all of them, as kernels::Error(rank).
class CheckpointReader {
 public:
  /// `group` is used by this object only while its calls run, and must outlive it.
  CheckpointReader(comm::ControlGroup& group, std::filesystem::path file);
  const std::filesystem::path& file() const { return file_; }
  const io::CheckpointInfo& info() const { return info_; }
  /// Throws the error of another model unless its sizes are `wanted`.
  void check_model(const io::ModelSizes& wanted) const { io::check_same_model(file_, info_.model, wanted); }
  /// Fills every range; padding becomes zero, and so do parts that the file does not have.
  void read(std::span<const io::StateRange> ranges);

 private:
  void verify();
  comm::ControlGroup& group_;
  std::filesystem::path file_;
  io::CheckpointInfo info_;
};

/// All of it: verify, compare the model, read.
io::CheckpointInfo restore_checkpoint(comm::ControlGroup& group, const std::filesystem::path& file,
                                      std::span<const io::StateRange> ranges, const io::ModelSizes& wanted);

}  // namespace tenax::resilience
