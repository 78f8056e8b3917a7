// StateServer: gives this rank's training state to equal ranks of replicas that are behind, while
// training goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "comm/connection.hpp"
#include "resilience/replicas/state_slices.hpp"
#include "resilience/replicas/step_points.hpp"

namespace tenax::resilience {

/// Thread rule: the thread that trains calls it. Each rank that fetches has a thread of its own
/// here.
class StateServer {
 public:
  /// References must outlive it. `deadline_s`: for a slice to leave.
  StateServer(const StateSlices& slices, comm::Transport& transport, StepPoints& points, double deadline_s)
      : slices_(slices), transport_(transport), points_(points), deadline_s_(deadline_s) {}
  ~StateServer() { drop_all(); }
  StateServer(const StateServer&) = delete;
  StateServer& operator=(const StateServer&) = delete;

  /// From now on the state is that after `done` steps and stands still, so it may be fetched.
  void open(std::int64_t done);
  /// Nobody reads the state any more after this: an update may begin. Who has not got it all
  /// is refused the rest.
  void close();
  /// Serves `peer`, whenever it connects for `purpose`.
  void serve(const comm::Peer& peer, const std::string& purpose);
  /// Ends all that are served.
  void drop_all();
  /// Bytes that left since the beginning.
  std::uint64_t served_bytes() const { return served_bytes_; }

 private:
  struct Session {
    std::thread thread;
    std::unique_ptr<comm::Connection> connection;  // guarded by mutex_ until the thread has ended
  };
  void run(Session& session, const comm::Peer& peer, const std::string& purpose);
  void serve_connection(Session& session);
  bool answer(comm::Connection& connection, std::vector<std::byte>& memory);
  bool read(int slice, std::int64_t done, std::vector<std::byte>& memory);

  const StateSlices& slices_;
  comm::Transport& transport_;
  StepPoints& points_;
  double deadline_s_;
  std::mutex mutex_;  // who holds it may read the state
  std::int64_t done_ = -1;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> served_bytes_{0};
  std::list<Session> sessions_;
};

}  // namespace tenax::resilience
