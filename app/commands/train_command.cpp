#include "app/build.hpp"
#include "app/commands/commands.hpp"

#include <algorithm>
#include <functional>
#include <thread>

#include "app/console.hpp"
#include "app/training/training_run.hpp"
#include "app/units.hpp"

namespace tenax::app {

namespace {

// An error that the other ranks do not know of: tell the user from here and end them. Several ranks may see the same
// fault (a peer that is silent); each waits in turn whether a lower one has spoken, whose abort arrives as a SIGTERM.
void end_alone(comm::World& world, StopSignals& signals, const std::string& what) {
  constexpr double kTurn_s = 0.5, kLongest_s = 5;
  const auto turn = kernels::Deadline::after_s(std::min(kTurn_s * world.rank(), kLongest_s));
  const bool stop_was_asked =
      signals.requested();  // then a signal does not tell that another rank has spoken
  while (!turn.expired() && (stop_was_asked || !signals.requested()))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!turn.expired()) std::_Exit(1);
  print_notice(format("rank %d on %s: %s", world.rank(), world.host().c_str(), what.c_str()));
  world.abort(1);
}

}  // namespace

int train_command(const std::string& deck, const std::vector<std::string>& overrides, const Build& build) {
  StopSignals signals;  // first: threads started later inherit the blocked signals
  std::function<void()> epilogue;
  {
    const auto world = comm::start_mpi_world({});
    try {
      TrainingRun run(*world, signals, build);
      run.read_deck(deck, overrides);
      epilogue = run.train();
    } catch (const comm::AgreedError& error) {
      if (world->rank() == 0) print_error(error);
      return error.exit_status();
    } catch (const std::exception& error) {
      end_alone(*world, signals, message_of(error));
      return 1;
    }
  }
  if (epilogue) epilogue();  // the other ranks have gone
  return 0;
}

}  // namespace tenax::app
