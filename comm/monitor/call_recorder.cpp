#include "comm/monitor/call_recorder.hpp"

#include <time.h>

namespace tenax::comm::monitor {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000, kOldest = kNanoseconds;

/// Since the machine was started, so that the logs of its ranks have one clock.
std::int64_t now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kNanoseconds + time.tv_nsec;
}

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

[[gnu::constructor]] void start_recorder() { call_recorder().start(); }
[[gnu::destructor]] void flush_recorder() { call_recorder().flush(); }

}  // namespace

CallRecorder& call_recorder() {
  static constinit CallRecorder recorder;
  return recorder;
}

void CallRecorder::start() {
  if (!file_.find_directory()) return;
  pthread_atfork([] { call_recorder().before_fork(); }, [] { call_recorder().after_fork_in_parent(); },
                 [] { call_recorder().after_fork_in_child(); });
  is_on_ = true;
}

void CallRecorder::add(const char* call, std::int64_t bytes, std::int64_t ranks) {
  const Lock lock(mutex_);
  if (!file_.is_open() && !file_.open()) is_on_ = false;
  if (!is_on()) return;
  // Below the lock: records are in the order of their times.
  records_[count_] = {.nanoseconds = now(), .call = call, .bytes = bytes, .ranks = ranks};
  const bool is_old = records_[count_].nanoseconds - records_[0].nanoseconds > kOldest;
  if (++count_ == kRecords || is_old) write();
}

void CallRecorder::flush() {
  const Lock lock(mutex_);
  write();
}

void CallRecorder::write() {
  if (!file_.write(records_, count_)) is_on_ = false;
  count_ = 0;
}

void CallRecorder::before_fork() { pthread_mutex_lock(&mutex_); }
void CallRecorder::after_fork_in_parent() { pthread_mutex_unlock(&mutex_); }
void CallRecorder::after_fork_in_child() {
  count_ = 0;
  file_.close();
  pthread_mutex_unlock(&mutex_);
}

}  // namespace tenax::comm::monitor
