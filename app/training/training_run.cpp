#include "app/training/training_run.hpp"

#include <optional>

#include "app/training/algorithms_file.hpp"
#include "app/training/banner.hpp"
#include "app/training/initial_weights.hpp"
#include "app/training/replay_steps.hpp"
#include "app/training/replica_run.hpp"
#include "app/training/training_data.hpp"
#include "io/checkpoint/rank_hosts.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "parallel/replica/swappable_replica.hpp"

namespace tenax::app {

TrainingRun::TrainingRun(comm::World& world, StopSignals& signals, const Build& build)
    : signals_(signals), build_(build), rank_(world), loop_(rank_, signals) {}

void TrainingRun::read_deck(const std::string& file, const std::vector<std::string>& overrides) {
  rank_.read_deck(file, overrides);
}

void TrainingRun::join(const std::string& join_file) { rank_.join(join_file); }

Epilogue TrainingRun::train() {
  if (rank_.seat()) return train_replica();
  RunState state(rank_);  // first: it gives the directories back last
  if (state.is_stopped()) return {};
  if (state.is_finished()) return already_finished(state.steps());
  RunMachine machine(rank_, earlier_algorithms(state.steps() > 0));
  const parallel::Layout layout = plan(machine);
  state.check_disk();
  const parallel::PipelineContext context = machine.create_context(layout);
  return machine.emulated() ? train_emulated(state, machine, layout, context)
                            : train_model(state, machine, layout, context);
}

// What runs, told to the user and checked.
parallel::Layout TrainingRun::plan(RunMachine& machine) {
  const parallel::Layout layout = machine.plan_layout();
  rank_.console().say(
      banner(rank_.deck(), layout, machine.device(), machine.flop_per_second(), machine.spare_bytes()));
  machine.check(layout);
  return layout;
}

// As rank 0 finds them.
std::string TrainingRun::earlier_algorithms(bool is_resumed) const {
  std::string text;
  rank_.on_first([&] {
    if (is_resumed) text = read_algorithms(rank_.records_directory());
  });
  return text;
}

void TrainingRun::keep_algorithms(const RunMachine& machine) const {
  const std::string text = machine.algorithms();
  rank_.on_first([&] { write_algorithms(rank_.records_directory(), text); });
}

Epilogue TrainingRun::train_replica() {
  RunState state = RunState::of_replica(rank_);
  RunMachine machine(rank_, earlier_algorithms(true));
  keep_algorithms(machine);
  const parallel::Layout layout = plan(machine);
  const parallel::PipelineContext context = machine.create_context(layout);
  ReplicaRun run(rank_, build_, signals_, loop_, state, machine, context, on_place_);
  return machine.emulated() ? run.train_emulated(layout) : run.train_model(layout);
}

Epilogue TrainingRun::train_emulated(RunState& state, RunMachine& machine, const parallel::Layout& layout,
                                     const parallel::PipelineContext& context) {
  const auto options = emulated_replica_options(rank_.deck());
  parallel::SwappableReplica replica(layout, context,
                                     [&](const parallel::ProcessGrid& grid, const parallel::Replica*) {
                                       return std::make_unique<parallel::EmulatedReplica>(
                                           layout, grid, context, *machine.emulated(), options);
                                     });
  state.open_directory(machine.transport_text());
  loop_.begin(state.steps());
  state.leave_ledger();
  GridSwap swap(replica, [&](auto& from, auto& to, comm::ControlGroup& control) {
    const auto bytes = static_cast<std::uint64_t>(rank_.deck().device.state_bytes);
    return move_emulated_state(from, to, control, context, bytes, roads(machine));
  });
  TrainingParts parts = loop_.parts(replica, context, state, machine);
  if (machine.has_room_for_swap()) parts.swap = &swap;
  return loop_.run(parts, context, 0);
}

Epilogue TrainingRun::train_model(RunState& state, RunMachine& machine, const parallel::Layout& layout,
                                  const parallel::PipelineContext& context) {
  parallel::SwappableReplica replica(
      layout, context, [&](const parallel::ProcessGrid& grid, const parallel::Replica* before) {
        return std::make_unique<parallel::GptReplica>(
            layout, grid, context,
            parallel::GptReplica::Options{.captures_graph = rank_.deck().device.cuda_graph,
                                          .before = dynamic_cast<const parallel::GptReplica*>(before),
                                          .keeps_spare = machine.spare_bytes() > 0,
                                          .waits_for_votes = !replay_folder_.empty()});
      });
  const auto model = [&]() -> parallel::GptReplica& {
    return dynamic_cast<parallel::GptReplica&>(replica.current());
  };
  TrainingData data(rank_);
  data.open();
  state.load(model(), data);
  state.open_directory(machine.transport_text());
  loop_.begin(state.steps());
  state.leave_ledger();
  keep_algorithms(machine);
  const auto checkpoints = state.create_checkpoints(model(), data, build_);
  GridSwap swap(replica, [&](auto& from, auto& to, comm::ControlGroup& control) {
    return move_model_state(from, to, control, context.world.rank(), roads(machine));
  });
  swap.then([&] {
    checkpoints->set_state(state_ranges(model().mirror()), state.fetch_of(model()),
                           io::places_text(model().grid().rank_of_position()));
  });
  TrainingParts parts = loop_.parts(replica, context, state, machine);
  if (machine.has_room_for_swap()) parts.swap = &swap;
  parts.training = data.training();
  parts.validation = data.validation();
  parts.checkpoints = checkpoints.get();
  std::optional<ReplaySteps> replay;
  if (!replay_folder_.empty()) {
    rank_.control().agree([&] { replay.emplace(rank_, model(), machine.device(), replay_folder_); });
    parts.points = &*replay;
  }
  return loop_.run(parts, context, state.steps());
}

resilience::MoveRoads TrainingRun::roads(RunMachine& machine) const {
  machine.connect_ranks();
  return {.transport = *machine.transport(),
          .peers = machine.peers(),
          .deadline_s = rank_.deck().comm.deadline_s};
}

Epilogue TrainingRun::already_finished(std::int64_t steps) const {
  if (!rank_.is_first()) return {};
  return [line = finished_line(rank_.deck(), steps)] { Console(true).say(line); };
}

}  // namespace tenax::app
