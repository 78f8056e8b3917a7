// Loading a checkpoint into any layout, by all ranks together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "comm/control_group.hpp"
#include "io/checkpoint/checkpoint_info.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"

namespace tenax::resilience {

/// It may be complete, but a rank cannot read it just now, or this tenax cannot at all.
class UnreadableCheckpoint : public comm::AgreedError {
 public:
  using comm::AgreedError::AgreedError;
};

/// How a rank verifies its share of a file. Ranks may differ.
struct Verification {
  /// More than eight are taken for eight. More than one are for a rank that is alone: others would wait for it the longer.
  int threads = 1;
  /// Before each piece of the share, `done` bytes of which are verified: where it throws, the file counts as unreadable.
  std::function<void(std::int64_t done, std::int64_t share)> look = [](auto, auto) {};
};

/// A checkpoint whose every byte has been verified, the ranks sharing the work. All calls are
/// collective; a failure on any rank is thrown on all of them, as kernels::Error(rank).
class CheckpointReader {
 public:
  /// `group` is used by this object only while its calls run, and must outlive it. Throws comm::AgreedUnfitFileError where
  /// there is no complete checkpoint of that name, else UnreadableCheckpoint.
  CheckpointReader(comm::ControlGroup& group, std::filesystem::path file,
                   const Verification& verification = {});
  /// Of a group of one rank, which has verified it.
  CheckpointReader(comm::ControlGroup& group, io::VerifiedCheckpoint checkpoint);
  const std::filesystem::path& file() const { return file_; }
  const io::CheckpointInfo& info() const { return info_; }
  /// Throws the error of another model unless its sizes are `wanted`.
  void check_model(const io::ModelSizes& wanted) const { io::check_same_model(file_, info_.model, wanted); }
  /// Fills every range; padding becomes zero, and so do parts that the file does not have.
  void read(std::span<const io::StateRange> ranges);

 private:
  void verify(const Verification& verification);
  void read_info();
  comm::ControlGroup& group_;
  std::filesystem::path file_;
  /// Of a VerifiedCheckpoint, so that it is read also where somebody removes it meanwhile. Else nothing: what a run resumes from
  /// is to give its room back when the run removes it.
  std::optional<io::PosixFile> open_;
  io::CheckpointInfo info_;
};

/// All of it: verify, compare the model, read.
io::CheckpointInfo restore_checkpoint(comm::ControlGroup& group, const std::filesystem::path& file,
                                      std::span<const io::StateRange> ranges, const io::ModelSizes& wanted);

}  // namespace tenax::resilience
