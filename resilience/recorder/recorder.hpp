// Recorder: what a rank does, for others to read when it stands still (ft-hsdp, section 2.3).
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include "resilience/recorder/recorder_file.hpp"

namespace tenax::resilience {

/// Keeps the last operations of this process in a file of shared memory of less than 1 MB, which outlives it. Thread
/// rule: any thread; an operation is ended by the thread that began it. Nothing blocks but add_channel().
class Recorder {
 public:
  struct Seat {
    int replica = 0, rank = 0;
    std::string host;
  };
  /// An operation that was begun.
  struct Ticket {
    std::uint64_t number = 0;  ///< counts those of the rank
    int channel = -1;
  };
  /// Where a step is. `between`: after the update and before the next step: records, evaluation, adaptation,
  /// checkpoints.
  enum class Phase : std::int32_t { starts, passes, exchange, vote, between };

  /// Throws kernels::Error(rank) where the file cannot be made.
  Recorder(const std::filesystem::path& file, const Seat& seat);
  /// Removes the file; who has opened it reads on.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  const Seat& seat() const { return seat_; }
  /// A warm spare is that replica from now on; before any channel is added that names it.
  void take_place(int replica);
  /// The channels of a name are the same one at all ranks; `place`: this rank's among `size`. −1, which all calls take,
  /// where there are too many.
  int add_channel(const std::string& name, ChannelKind kind, int place, int size);
  void remove_channel(int channel);

  /// `number`: −1 = the next one of the channel.
  Ticket begin(OperationKind kind, int channel, std::int64_t bytes, std::string_view label = {},
               std::int64_t number = -1);
  void end(const Ticket& ticket);
  /// The thread looked whether it has ended.
  void look(const Ticket& ticket);
  /// The thread stands in it from now on, or no more.
  void stand(const Ticket& ticket, bool stands);
  /// What a connection carried, where nobody waits for single messages.
  void count(int channel, std::int64_t amount);

  /// A step has come so far.
  void reach(Phase phase, std::int64_t step);

 private:
  RecorderSlot* slot_of(const Ticket& ticket);
  RecorderChannel* channel_of(int channel);

  Seat seat_;
  const std::filesystem::path path_;
  RecorderMap map_;
  RecorderFile& file_;
  std::mutex mutex_;  // of the table of channels
};

/// An operation in which the calling thread stands.
class StoodIn {
 public:
  StoodIn(Recorder& recorder, OperationKind kind, int channel, std::int64_t bytes)
      : recorder_(recorder), ticket_(recorder.begin(kind, channel, bytes)) {
    recorder_.stand(ticket_, true);
  }
  ~StoodIn() { recorder_.end(ticket_); }
  StoodIn(const StoodIn&) = delete;
  StoodIn& operator=(const StoodIn&) = delete;

 private:
  Recorder& recorder_;
  const Recorder::Ticket ticket_;
};

}  // namespace tenax::resilience
