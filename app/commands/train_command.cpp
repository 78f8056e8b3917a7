#include "app/build.hpp"
#include "app/commands/commands.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "app/console.hpp"
#include "app/launch/launch_files.hpp"
#include "app/training/training_run.hpp"
#include "app/units.hpp"
#include "kernels/open_files.hpp"

namespace tenax::app {

namespace {

// An error that the other ranks do not know of: tell the user from here and end them. Several ranks may see the same
// fault (a peer that is silent); each waits in turn whether a lower one has spoken, whose abort arrives as a SIGTERM.
void end_alone(comm::World& world, StopSignals& signals, const std::string& what,
               const std::function<void()>& record) {
  constexpr double kTurn_s = 0.5, kLongest_s = 5;
  const auto turn = kernels::Deadline::after_s(std::min(kTurn_s * world.rank(), kLongest_s));
  const bool stop_was_asked =
      signals.requested();  // then a signal does not tell that another rank has spoken
  while (!turn.expired() && (stop_was_asked || !signals.requested()))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!turn.expired()) std::_Exit(1);
  print_notice(format("rank %d on %s: %s", world.rank(), world.host().c_str(), what.c_str()));
  record();
  world.abort(1);
}

/// Reads what to train, and trains it.
using Train = std::function<Epilogue(TrainingRun& run)>;
/// How the run ended, to rank 0 or the rank that failed alone.
struct Ending {
  int status;
  std::string reason;
  bool is_own = false;  ///< Outcome's
};
using Ended = std::function<void(const Ending& ending)>;

/// Not what another rank, replica or host may have done to it.
bool is_own(const std::exception& error) {
  const auto* const known = dynamic_cast<const kernels::Error*>(&error);
  return known && (known->scope() == kernels::Scope::usage || known->scope() == kernels::Scope::rank);
}

// A supervisor starts again what ends.
std::unique_ptr<comm::World> start_world(bool by_sigterm) {
  std::optional<EndBySigterm> while_starting;
  if (!by_sigterm) while_starting.emplace();
  return comm::start_mpi_world({});
}

int train(const Train& train, const Ended& ended, const Build& build, bool by_sigterm = true) {
  StopSignals signals(by_sigterm);  // first: threads started later inherit the blocked signals
  kernels::raise_open_files_limit();
  std::function<void()> epilogue;
  int status = 0;
  {
    const auto world = start_world(by_sigterm);
    std::optional<TrainingRun> run;
    const auto record = [&](int failure, const std::exception& error) {
      if (run) run->record_failure(message_of(error));
      ended({failure, message_of(error), is_own(error)});
    };
    try {
      run.emplace(*world, signals, build);
      epilogue = train(*run);
      status = run->status();
      if (world->rank() == 0) ended({status, ""});
    } catch (const comm::AgreedError& error) {
      if (world->rank() == 0) print_error(error);
      if (world->rank() == 0) record(error.exit_status(), error);
      return error.exit_status();
    } catch (const std::exception& error) {
      end_alone(*world, signals, message_of(error), [&] { record(1, error); });
      return 1;
    }
  }
  if (epilogue) epilogue();  // the other ranks have gone
  return status;
}

}  // namespace

int train_command(const std::string& deck, const std::vector<std::string>& overrides, const Build& build) {
  return train(
      [&](TrainingRun& run) {
        run.read_deck(deck, overrides);
        return run.train();
      },
      [](const Ending&) {}, build);
}

int replay_rank_command(const std::string& folder, const std::vector<std::string>& overrides,
                        const Build& build) {
  return train(
      [&](TrainingRun& run) {
        run.read_deck((std::filesystem::path(folder) / "deck.toml").string(), overrides);
        run.record_into(folder);
        return run.train();
      },
      [](const Ending&) {}, build);
}

// What mpirun says of its end may be anything: the supervisor reads the outcome. One that is out of the run may end when
// its successor has the folder already: it must not speak for that one.
int join_command(const std::string& join_file, const Build& build) {
  std::filesystem::path place = join_file;
  std::optional<JoinFile> seat;  // nothing before it has joined
  const auto leave_outcome = [&](const Ending& ending) {
    try {
      const JoinFile now = JoinFile::read(place);
      if (seat && !now.is_of_same_start(*seat)) return;
      Outcome{.incarnation = now.incarnation,
              .status = ending.status,
              .reason = ending.reason,
              .is_own = ending.is_own}
          .write(place.parent_path() / "outcome");
    } catch (const kernels::Error&) {  // then its end says it all
    }
  };
  return train(
      [&](TrainingRun& run) {
        run.on_place([&](const std::filesystem::path& taken) {
          place = taken;
          seat = *run.seat();
        });
        run.join(join_file);
        seat = *run.seat();
        return run.train();
      },
      leave_outcome, build, false);
}

}  // namespace tenax::app
