// RecorderImage: what a rank's recorder held when it was read. hang_dump(): the same of many ranks, put together.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "resilience/blame/hang_dump.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::resilience {

struct RecordedOperation {
  OperationKind kind = OperationKind::pass;
  std::string label;
  int channel = -1;  ///< index of RecorderImage::channels
  std::int64_t number = 0, bytes = 0, step = 0;
  std::int64_t started_ns = 0, finished_ns = 0;  ///< finished_ns 0: not
  std::uint64_t ticket = 0;
  std::uint32_t looks = 0;
  bool stands = false;
};

struct RecordedChannel {
  std::string name;
  ChannelKind kind = ChannelKind::group;
  int place = 0, size = 1;
  std::int64_t started = 0, finished = 0;
};

struct RecorderImage {
  int replica = 0, rank = 0;
  std::string host;
  std::int64_t pid = 0, step = -1, steps = 0;
  std::int64_t moved_ns = 0, read_ns = 0;
  Recorder::Phase phase = Recorder::Phase::starts;
  ProcessState state = ProcessState::running;
  std::vector<RecordedChannel> channels;
  std::vector<RecordedOperation> operations;  ///< oldest first; torn ones are left out
};

/// Without the help of whoever writes it, and without `state`.
RecorderImage image_of(const RecorderFile& file);

/// Pure. `before`: of the same ranks a moment earlier: what was looked at since is being waited for. A rank of whom there
/// is no image is in `unread`.
HangDump hang_dump(const std::vector<RecorderImage>& before, const std::vector<RecorderImage>& now,
                   const std::vector<HangDump::Rank>& unread);

}  // namespace tenax::resilience
