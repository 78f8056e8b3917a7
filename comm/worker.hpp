// Worker: one thread that runs jobs in the order they were given.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tenax::comm {

/// Thread rule: any thread gives jobs; the thread starts with the first. Jobs must not throw. The destructor finishes
/// what was given.
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

}  // namespace tenax::comm
