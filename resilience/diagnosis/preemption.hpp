// Preemption: how long a rank was kept from its processors by others.
#pragma once

#include <filesystem>
#include <vector>

#include "resilience/diagnosis/stolen_time.hpp"
#include "resilience/diagnosis/task_waits.hpp"

namespace tenax::resilience {

/// Where the kernel tells of this process; tests give others.
struct PreemptionSources {
  std::filesystem::path tasks = "/proc/self/task", processors = "/proc/stat";
  std::vector<int> allowed = allowed_processors();
};

/// Run-queue waits, in which throttling by a cgroup is, and time stolen by a hypervisor. Where the
/// kernel does not tell them they count as 0; nothing throws. Of a process with 4 threads a call in a
/// 20 ms step costs 20 µs. Used by one thread at a time.
class Preemption {
 public:
  /// `now_s`, here and below: of one clock, usually kernels::steady_now_s().
  explicit Preemption(double now_s, PreemptionSources sources = {});

  /// Seconds since the last call (the constructor for the first) that a thread of this process was
  /// ready to run, but did not: of the thread that had to wait longest. At most the time since.
  double take(double now_s);

 private:
  TaskWaits waits_;
  StolenTime stolen_;
  double taken_at_s_;
};

}  // namespace tenax::resilience
