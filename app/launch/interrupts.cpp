#include "app/launch/interrupts.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "kernels/error.hpp"

namespace tenax::app {
namespace {

// nohup ignores it for whatever it starts; a descriptor would have it all the same.
bool is_hangup_ignored() {
  struct sigaction action {};
  return sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interrupts::Interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT}) sigaddset(&signals, signal);
  if (!is_hangup_ignored()) sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  descriptor_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0)
    throw kernels::Error(kernels::Scope::rank, "cannot watch for signals: signalfd failed");
}

Interrupts::~Interrupts() { close(descriptor_); }

Interrupts::Taken Interrupts::take() {
  Taken taken;
  signalfd_siginfo info;
  while (read(descriptor_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    taken.any = true;
    if (info.ssi_signo == SIGINT && ++sigints_ > 1) taken.second_sigint = true;
  }
  return taken;
}

}  // namespace tenax::app
