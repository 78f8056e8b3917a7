// LeaseKeeper: keeps the lease of a supervisor that is in charge and has not opened its records yet.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "resilience/etcd/run_lease.hpp"

namespace tenax::resilience {

/// To look at what a run's directories hold may take minutes. A thread keeps the lease meanwhile. Where it has ended, and
/// nobody else has taken charge, this supervisor does again. Thread rule: any thread.
class LeaseKeeper {
 public:
  /// `lease` is held. It outlives this, and nobody else uses it meanwhile. Throws as comm::start_prompt_thread.
  explicit LeaseKeeper(RunLease& lease);
  /// Waits for what it asks etcd just then.
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  /// Asks etcd. Throws Error(job) once another is in charge, else as the EtcdClient.
  void check();

 private:
  void run();
  void keep();

  RunLease& lease_;
  std::mutex mutex_;  // of all, the lease too
  std::condition_variable changed_;
  bool stopping_ = false, is_deposed_ = false;
  std::thread thread_;
};

}  // namespace tenax::resilience
