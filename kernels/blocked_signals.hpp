// BlockedSignals: no signal reaches this thread, nor those that it starts.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace tenax::kernels {

/// Blocks all signals of the calling thread while it lives; then those are blocked that were before. A thread is born with its
/// parent's mask: one that is started meanwhile has no moment in which it could take a signal. Ends on the thread that
/// made it.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tenax::kernels
