#include "comm/prompt_thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

namespace tenax::comm {

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
