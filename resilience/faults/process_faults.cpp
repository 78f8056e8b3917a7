#include "resilience/faults/process_faults.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>
#include <string>
#include <system_error>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw kernels::Error(kernels::Scope::rank,
                       "cannot " + what + " (injected): " + std::generic_category().message(errno));
}

timespec timespec_of(double seconds) {
  const double whole = std::floor(seconds);
  return {static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
}

// In a child of a process with threads: only system calls. It holds no connection open that ends with its parent.
[[noreturn]] void wake_after(pid_t victim, timespec pause, int descriptors) {
  for (int i = 0; i < descriptors; ++i) close(i);
  nanosleep(&pause, nullptr);
  kill(victim, SIGCONT);
  _exit(0);
}

void wake_later(pid_t victim, double seconds) {
  constexpr long kMostDescriptors = 65536;
  const auto descriptors = static_cast<int>(std::min(sysconf(_SC_OPEN_MAX), kMostDescriptors));
  const pid_t child = fork();
  if (child == 0) wake_after(victim, timespec_of(seconds), descriptors);
  if (child < 0) fail("fork");
}

// A process stops itself by a signal to this very thread: one to the process may be another thread's to take, and until that has a
// processor this one would go on, and do what it shall not come to.
void strike(const ProcessFault& fault) {
  if (fault.stops && fault.stop_s > 0) wake_later(fault.victim, fault.stop_s);
  const int signal = fault.stops ? SIGSTOP : SIGKILL;
  if ((fault.victim == getpid() ? raise(signal) : kill(fault.victim, signal)) != 0)
    fail("signal process " + std::to_string(fault.victim));
}

}  // namespace

void ProcessFaults::reach(StepPoint point, std::int64_t step, double run_s) const {
  for (const ProcessFault& fault : faults_)
    if (fault.point == point && fault.occasion.comes(step, run_s)) strike(fault);
}

}  // namespace tenax::resilience
