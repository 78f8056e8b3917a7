#include "comm/worker.hpp"

#include <sys/prctl.h>

#include "comm/signal.hpp"
#include "kernels/blocked_signals.hpp"
#include "kernels/new_thread.hpp"

namespace tenax::comm {

Worker::~Worker() {
  change_and_notify(mutex_, changed_, [this] { stopping_ = true; });
  if (thread_.joinable()) thread_.join();
}

void Worker::add(Job job) {
  change_and_notify(mutex_, changed_, [&] {
    if (!thread_.joinable()) thread_ = start_prompt_thread([this] { run(); });
    jobs_.push_back(std::move(job));
  });
}

void Worker::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

std::thread start_prompt_thread(std::function<void()> body) {
  const kernels::BlockedSignals blocked;
  return kernels::new_thread([body = std::move(body)] {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    body();
  });
}

}  // namespace tenax::comm
