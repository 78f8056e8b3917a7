// StateFetch: brings the training state after a given step from equal ranks of other replicas.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/connection.hpp"
#include "resilience/replicas/slice_queue.hpp"
#include "resilience/replicas/state_slices.hpp"
#include "resilience/replicas/step_points.hpp"

namespace tenax::resilience {

/// Fetches from kMostSources at once, from each as much (SliceQueue). Where one gives no more, another takes its place.
/// A slice that a source fails to give, gives damaged or is slow to give is asked of another. Nothing is certain about
/// the state until is_complete(). Thread rule: the thread that trains; threads of its own fetch.
class StateFetch {
 public:
  /// Each takes a thread, a connection and a slice's memory.
  static constexpr int kMostSources = 16;
  struct Options {
    std::int64_t done = 0;  ///< steps behind the state that is wanted
    std::string purpose;    ///< of the connections
    double deadline_s = 60;
    double bytes_per_s = 0;  ///< of this rank, from all sources together; 0: no limit
    int turn = 0;  ///< another one for each that fetches at the same time: it begins with another source
  };
  /// Begins. `slices` are written; they, `transport` and `points` must outlive it.
  StateFetch(const StateSlices& slices, comm::Transport& transport, std::vector<comm::Peer> sources,
             StepPoints& points, Options options);
  /// Stops what is under way, within a moment also where a source is stopped or cut off.
  ~StateFetch();
  StateFetch(const StateFetch&) = delete;
  StateFetch& operator=(const StateFetch&) = delete;

  bool is_complete() const { return fetched_ == slices_.count(); }
  /// No source is left, or the state was changed before all of it was here.
  bool has_failed() const { return !is_complete() && asking_ == 0; }
  /// When it became complete, steady clock.
  double completed_s() const { return completed_s_; }
  std::uint64_t bytes() const { return bytes_; }
  /// How many sources gave something.
  int useful_sources() const { return useful_sources_; }

 private:
  void end() noexcept;
  void run(int index);
  const comm::Peer& source_at(int number) const;
  comm::Connection& keep(std::unique_ptr<comm::Connection> connection);
  void fetch_from(int index, const comm::Peer& source, std::vector<int>& asked);
  bool ask(int index, comm::Connection& connection, std::vector<int>& asked, bool waited);
  double reserve_turn(std::size_t bytes);
  void await_turn(double turn_s) const;
  bool claim(int slice);
  bool take(comm::Connection& connection, std::vector<int>& asked, std::vector<std::byte>& memory);

  const StateSlices& slices_;
  comm::Transport& transport_;
  StepPoints& points_;
  const std::vector<comm::Peer> sources_;
  const int at_once_;  // sources
  Options options_;
  std::mutex mutex_;  // of what follows
  SliceQueue queue_;
  double next_turn_s_ = 0;  // when the limit allows to ask for more, steady clock
  std::vector<std::unique_ptr<comm::Connection>> connections_;  // that there have been
  std::atomic<int> fetched_{0}, asking_, useful_sources_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<double> completed_s_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace tenax::resilience
