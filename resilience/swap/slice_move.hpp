// SliceMove: the move of a state that has data, in checksummed slices, from memory to memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "io/state_range.hpp"
#include "resilience/swap/state_move.hpp"

namespace tenax::resilience {

/// A rank that moves sends its old state to the rank that takes its place while the state of its new
/// place comes to it: two threads. A rank that stays has nothing to do.
class SliceMove final : public StateMove {
 public:
  /// Small enough to be in the processor's cache when it leaves, after its checksum was formed.
  static constexpr std::size_t kSliceBytes = std::size_t{512} << 10;
  using Ranges = std::vector<io::StateRange>;

  /// Begins. `from`, `to`: this rank's state in the old and the new grid. Their memory, and all that
  /// `roads` names, outlives it; that of `to` holds anything until the move is complete.
  SliceMove(const PlaceChange& change, const Ranges& from, const Ranges& to, const MoveRoads& roads);
  ~SliceMove() override;
  SliceMove(const SliceMove&) = delete;
  SliceMove& operator=(const SliceMove&) = delete;

  bool goes_on(double seconds) override;
  std::uint64_t bytes() const override { return bytes_; }

 private:
  using Slices = std::vector<std::span<std::byte>>;
  enum class Progress { under_way, complete, failed };

  void end_threads() noexcept;
  static Slices slices_of(const Ranges& ranges);
  void send(const Slices& slices, const MoveRoads& roads);
  void receive(const Slices& slices, const MoveRoads& roads);
  comm::Connection& keep(std::unique_ptr<comm::Connection>& place, std::unique_ptr<comm::Connection> made);
  void end(Progress progress);

  PlaceChange change_;
  std::mutex mutex_;
  std::condition_variable ended_;
  Progress progress_ = Progress::complete;                 // guarded by mutex_: of what comes to this rank
  std::unique_ptr<comm::Connection> outgoing_, incoming_;  // made under mutex_; they stay as long as this
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> bytes_{0};
  std::thread sender_, receiver_;
};

}  // namespace tenax::resilience
