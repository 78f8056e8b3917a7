#include "app/stop_signals.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "kernels/error.hpp"
#include "kernels/new_thread.hpp"

namespace tenax::app {

namespace {

std::atomic<bool> took_sigterm{false};

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

void StopSignals::hold() {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void StopSignals::release() {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

StopSignals::StopSignals(bool by_sigterm) : by_sigterm_(by_sigterm) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is an error of who writes it
  hold();
  const sigset_t signals = stop_signals();
  descriptor_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0)
    throw kernels::Error(kernels::Scope::rank, "cannot watch for signals: signalfd failed");
}

StopSignals::~StopSignals() { close(descriptor_); }

bool StopSignals::requested() {
  signalfd_siginfo info;
  while (read(descriptor_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const bool is_sigterm = info.ssi_signo == SIGTERM;
    if (is_sigterm) took_sigterm = true;
    requested_ |= by_sigterm_ || !is_sigterm;
  }
  return requested_;
}

bool StopSignals::is_terminated() {
  sigset_t pending;
  return took_sigterm || (sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1);
}

bool StopSignals::is_pending() {
  sigset_t pending;
  if (sigpending(&pending) != 0) return false;
  return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGUSR1) == 1 ||
         sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGHUP) == 1;
}

EndBySigterm::EndBySigterm()
    : thread_(kernels::new_thread([this] {
        constexpr auto kBetweenLooks = std::chrono::milliseconds(10);
        for (; !is_over_; std::this_thread::sleep_for(kBetweenLooks))
          if (StopSignals::is_terminated()) _exit(1);
      })) {}

EndBySigterm::~EndBySigterm() {
  is_over_ = true;
  thread_.join();
}

}  // namespace tenax::app
