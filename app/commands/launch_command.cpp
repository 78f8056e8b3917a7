// tenax launch: the supervisor's process.
#include <csignal>
#include <thread>

#include "app/commands/commands.hpp"
#include "app/console.hpp"
#include "app/fault_options.hpp"
#include "app/launch/interrupts.hpp"
#include "app/options.hpp"
#include "app/supervisor/supervisor.hpp"
#include "app/training/banner.hpp"
#include "comm/world.hpp"
#include "io/json.hpp"
#include "kernels/error.hpp"
#include "kernels/open_files.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::app {
namespace {

/// The first SIGINT, as the other signals, asks for the end in order; the second for one at once.
Supervisor::Requests take_requests(Interrupts& interrupts) {
  const Interrupts::Taken taken = interrupts.take();
  return {.stop = taken.any, .end = taken.second_sigint};
}

/// Some moments' work at a time. True where the run has ended in order; false where it begins anew.
bool work(Supervisor& supervisor, Interrupts& interrupts) {
  supervisor.start();
  while (true) {
    const auto progress = supervisor.advance(take_requests(interrupts));
    if (progress != Supervisor::Progress::goes_on) return progress == Supervisor::Progress::has_ended;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// An error is recorded before it ends the run.
bool supervise(Supervisor& supervisor, Interrupts& interrupts, RunRank& rank) {
  const auto record = [&](io::JsonObject details) {
    details.append(supervisor.end());  // before the steps are looked at
    rank.write_event("end", supervisor.steps_done(), details);
  };
  try {
    if (!work(supervisor, interrupts)) return false;
  } catch (const kernels::Error& error) {
    try {
      if (supervisor.has_run() && !supervisor.is_deposed())
        record(io::JsonObject{}.add("reason", "failed").add("error", message_of(error)));
    } catch (const kernels::Error&) {  // the first error says more
    }
    if (supervisor.has_run() || !supervisor.takes_over()) supervisor.release("failed", error.exit_status());
    throw;
  }
  rank.console().say(closing_line(rank.deck(), supervisor.steps_done(), supervisor.end_reason()));
  record(io::JsonObject{}.add("reason", supervisor.end_reason()));
  supervisor.release(supervisor.end_reason(), 0);
  return true;
}

/// True where the run has ended, or was at its end; false where it begins anew.
bool supervise(RunRank& rank, const Build& build, RunStanding* standing, double started_s,
               Interrupts& interrupts) {
  Supervisor supervisor(rank, build, standing, started_s);
  if (supervisor.is_stopped()) {
    supervisor.release("signal", 0);
    return true;
  }
  if (!supervisor.is_finished()) return supervise(supervisor, interrupts, rank);
  supervisor.complete_records();
  supervisor.release("completed", 0);
  rank.console().say(finished_line(rank.deck(), supervisor.steps_done()));
  return true;
}

bool has_own_checkpoints(const io::Deck& deck) {
  const std::filesystem::path folder = deck.checkpoint.dir;
  return !resilience::list_checkpoints(folder).empty() ||
         !resilience::list_pending_checkpoints(folder).empty();
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
  Interrupts interrupts;  // first: threads started later inherit the blocked signals
  // Whoever reads the output may end: the run goes on, and main() says what was lost.
  std::signal(SIGPIPE, SIG_IGN);
  kernels::raise_open_files_limit();
  constexpr double kDeadline_s = 60;
  const auto worlds = comm::create_thread_worlds(1, {kDeadline_s});
  RunRank rank(*worlds.front());
  rank.read_deck_of_replicas(arguments.front(), {arguments.begin() + 1, arguments.end()});
  check_bit_flips(rank.deck());
  const auto standing = RunStanding::of(rank.deck());
  if (standing)
    if (const auto end = standing->take_charge([&] { return interrupts.take().any; }, rank.console()))
      return end_with(*end, rank);
  for (const std::string& warning : faults_without_link(rank.deck())) rank.console().warn(warning);
  if (const auto warning = idle_strategies(rank.deck()); !warning.empty()) rank.console().warn(warning);
  const double started_s = kernels::steady_now_s();
  while (!supervise(rank, build, standing.get(), started_s, interrupts))
    if (has_own_checkpoints(rank.deck())) rank.go_on();
  return 0;
}

}  // namespace tenax::app
