// tenax launch: the supervisor's process.
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "app/commands/commands.hpp"
#include "app/console.hpp"
#include "app/fault_options.hpp"
#include "app/supervisor/supervisor.hpp"
#include "comm/world.hpp"
#include "io/json.hpp"
#include "kernels/error.hpp"

namespace tenax::app {
namespace {

/// SIGUSR1, SIGTERM, SIGHUP and the first SIGINT ask for the end in order; the second SIGINT for one at once.
class SupervisorSignals {
 public:
  SupervisorSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGUSR1, SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    descriptor_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (descriptor_ < 0)
      throw kernels::Error(kernels::Scope::rank, "cannot watch for signals: signalfd failed");
  }
  ~SupervisorSignals() { close(descriptor_); }
  SupervisorSignals(const SupervisorSignals&) = delete;
  SupervisorSignals& operator=(const SupervisorSignals&) = delete;

  Supervisor::Requests take() {
    Supervisor::Requests requests;
    signalfd_siginfo info;
    while (read(descriptor_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      requests.stop = true;
      if (info.ssi_signo == SIGINT && ++interrupts_ > 1) requests.end = true;
    }
    return requests;
  }

 private:
  int descriptor_ = -1, interrupts_ = 0;
};

// An error is recorded before it ends the run.
void supervise(Supervisor& supervisor, SupervisorSignals& signals, const RunRank& rank) {
  const auto record = [&](io::JsonObject details) {
    rank.write_event("end", supervisor.steps_done(), details.append(supervisor.end()));
  };
  try {
    supervisor.start();
    while (supervisor.advance(signals.take())) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } catch (const kernels::Error& error) {
    try {
      if (supervisor.has_records() && !supervisor.is_deposed())
        record(io::JsonObject{}.add("reason", "failed").add("error", message_of(error)));
    } catch (const kernels::Error&) {  // the first error says more
    }
    supervisor.release("failed", error.exit_status());
    throw;
  }
  record(io::JsonObject{}.add("reason", supervisor.end_reason()));
  supervisor.release(supervisor.end_reason(), 0);
}

/// What a standby does where the run has ended without it.
int end_with(const resilience::RunEnd& end, RunRank& rank) {
  if (end.host.empty()) return 0;  // told to wait no longer
  const std::string text = "the run ended on " + end.host + ": " + end.reason;
  if (end.status != 0) throw kernels::Error(kernels::Scope::job, text + "; its messages are there");
  rank.console().say(text);
  return 0;
}

}  // namespace

int launch_command(const std::vector<std::string>& arguments, const Build& build) {
  if (arguments.empty() || arguments.front().starts_with("-"))
    throw kernels::Error(kernels::Scope::usage, arguments.empty()
                                                    ? "tenax launch needs a deck (see tenax launch --help)"
                                                    : "tenax launch has no option " + arguments.front());
  SupervisorSignals signals;  // first: threads started later inherit the blocked signals
  constexpr double kDeadline_s = 60;
  const auto worlds = comm::create_thread_worlds(1, {kDeadline_s});
  RunRank rank(*worlds.front());
  rank.read_deck_of_replicas(arguments.front(), {arguments.begin() + 1, arguments.end()});
  check_bit_flips(rank.deck());
  const auto standing = RunStanding::of(rank.deck());
  if (standing)
    if (const auto end = standing->take_charge([&] { return signals.take().stop; }, rank.console()))
      return end_with(*end, rank);
  Supervisor supervisor(rank, build, standing.get());
  if (supervisor.is_finished()) {
    supervisor.release("completed", 0);
    rank.console().say("the run in " + rank.deck().run.output_dir + " is finished");
    return 0;
  }
  supervise(supervisor, signals, rank);
  return 0;
}

}  // namespace tenax::app
