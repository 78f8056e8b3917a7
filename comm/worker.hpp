// The threads of comm/: one that runs jobs in order, and one that sleeps nearly always and wakes on
// time.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tenax::comm {

/// Thread rule: any thread gives jobs; the thread starts with the first. Jobs must not throw. The
/// destructor finishes what was given. Where no thread is to be had, add() throws as start_prompt_thread does, and
/// the job is gone.
class Worker {
 public:
  using Job = std::function<void()>;

  Worker() = default;
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  void add(Job job);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

/// A thread whose timed sleeps end when they should (the kernel may else add 50 us to each, to save
/// power) and that takes no signals: those belong to the rank's own thread. `body` must not throw. Throws
/// Error(rank) where no thread is to be had (kernels/new_thread.hpp).
std::thread start_prompt_thread(std::function<void()> body);

}  // namespace tenax::comm
