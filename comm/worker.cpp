#include "comm/worker.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include "comm/signal.hpp"

namespace tenax::comm {

Worker::~Worker() {
  change_and_notify(mutex_, changed_, [this] { stopping_ = true; });
  if (thread_.joinable()) thread_.join();
}

void Worker::add(Job job) {
  change_and_notify(mutex_, changed_, [&] {
    jobs_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = start_prompt_thread([this] { run(); });
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
  // A thread is born with its parent's mask: changed here, there is no moment in which it could take a signal.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread([body = std::move(body)] {
      prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
      body();
    });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace tenax::comm
