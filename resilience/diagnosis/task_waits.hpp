// TaskWaits: how long the threads of this process were ready, but did not run.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "io/posix_file.hpp"

namespace tenax::resilience {

/// Reads the kernel's run-queue waits, of each thread in a file that stays open. Where it finds none
/// it tells 0 and never throws. Used by one thread at a time.
class TaskWaits {
 public:
  /// `tasks`: a folder with a folder for each thread, as /proc/self/task, in which is `schedstat`.
  explicit TaskWaits(std::filesystem::path tasks);

  /// Seconds since the last call (the constructor for the first) of the thread that waited longest.
  /// Threads that began since are seen at every 16th call, and count from then.
  double take();

 private:
  struct Task {
    io::PosixFile schedstat;
    double waited_s = 0;  // as last read
  };
  void list_tasks();
  void open_task(const std::string& name);

  std::filesystem::path tasks_folder_;
  std::map<std::string, Task> tasks_;
  int calls_ = 0;
};

}  // namespace tenax::resilience
