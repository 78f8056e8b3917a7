#include "app/training/training_run.hpp"

#include <optional>

#include "app/options.hpp"
#include "app/training/algorithms_file.hpp"
#include "app/training/banner.hpp"
#include "app/training/initial_weights.hpp"
#include "app/training/replay_steps.hpp"
#include "app/training/start_elsewhere.hpp"
#include "app/training/training_data.hpp"
#include "app/units.hpp"
#include "io/checkpoint/rank_hosts.hpp"
#include "io/json.hpp"
#include "io/run/run_series.hpp"
#include "parallel/replica/emulated_replica.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "parallel/replica/swappable_replica.hpp"

namespace tenax::app {

namespace {

// Which of a host's devices it is.
std::string label_of(const kernels::Device& device) {
  switch (device.kind()) {
    case kernels::DeviceKind::cuda:
      return "cuda " + device.bus_id();
    case kernels::DeviceKind::emulated:
      return "emulated";
    case kernels::DeviceKind::cpu:
      break;
  }
  return "cpu";
}

// Of one rank.
double state_bytes_per_s(const io::Deck& deck) {
  constexpr double kBytesPerGbit = 1e9 / 8;
  return deck.replicas.state_gbps * kBytesPerGbit / static_cast<double>(deck.parallel.ranks());
}

}  // namespace

TrainingRun::TrainingRun(comm::World& world, StopSignals& signals, const Build& build)
    : signals_(signals), build_(build), rank_(world) {}

void TrainingRun::read_deck(const std::string& file, const std::vector<std::string>& overrides) {
  rank_.read_deck(file, overrides);
}

void TrainingRun::join(const std::string& join_file) { rank_.join(join_file); }

TrainingRun::Epilogue TrainingRun::train() {
  if (rank_.seat()) return train_replica();
  RunState state(rank_);  // first: it gives the directories back last
  if (state.is_finished()) return already_finished(state.steps());
  RunMachine machine(rank_, earlier_algorithms(state.steps() > 0));
  const parallel::Layout layout = machine.plan_layout();
  rank_.console().say(
      banner(rank_.deck(), layout, machine.device(), machine.flop_per_second(), machine.spare_bytes()));
  machine.check(layout);
  state.check_disk();
  const parallel::PipelineContext context = machine.create_context(layout);
  return machine.emulated() ? train_emulated(state, machine, layout, context)
                            : train_model(state, machine, layout, context);
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

// All that takes time is done before the replica tells the service that it is there.
TrainingRun::Epilogue TrainingRun::train_replica() {
  RunState state = RunState::of_replica(rank_);
  RunMachine machine(rank_, earlier_algorithms(true));
  keep_algorithms(machine);
  const parallel::Layout layout = machine.plan_layout();
  rank_.console().say(
      banner(rank_.deck(), layout, machine.device(), machine.flop_per_second(), machine.spare_bytes()));
  machine.check(layout);
  const parallel::PipelineContext context = machine.create_context(layout);
  if (machine.emulated()) {
    parallel::EmulatedReplica replica(layout, parallel::ProcessGrid(layout.grid), context,
                                      *machine.emulated(),
                                      {.load = emulated_load(rank_.deck()),
                                       .optimizer_s = kSecondsPerMs * rank_.deck().device.optimizer_ms});
    TrainingParts parts = parts_of(replica, context, state, machine);
    parts.restore = [] { return RestoredState{}; };
    return run_replica(parts, machine, context, state, {});
  }
  parallel::GptReplica replica(layout, parallel::ProcessGrid(layout.grid), context, {});
  TrainingData data(rank_);
  data.open();
  const auto checkpoints = state.create_checkpoints(replica, data, build_);
  const resilience::StateSlices slices(state_ranges(replica.mirror()));
  resilience::StateAccess access{.slices = &slices};
  const double deadline_s = rank_.deck().comm.deadline_s;
  access.publish = [&] { replica.state().publish_weights(kernels::Deadline::after_s(deadline_s)); };
  if (replica.mirror().is_copy()) {
    access.bring = [&] {
      if (checkpoints->is_saving()) return false;
      replica.mirror().fetch(kernels::Deadline::after_s(deadline_s));
      return true;
    };
    access.put = [&] { replica.mirror().store(kernels::Deadline::after_s(deadline_s)); };
  }
  std::optional<PeerState> peer_state;
  rank_.control().agree([&] { peer_state.emplace(rank_, replica); });
  TrainingParts parts = parts_of(replica, context, state, machine);
  parts.peer_state = &*peer_state;
  parts.training = data.training();
  parts.validation = data.validation();
  parts.checkpoints = checkpoints.get();
  parts.restore = [&] {
    const RestoredState restored = state.restore(replica, data);
    checkpoints->set_tokenizer(data.claim().tokenizer, data.claim().vocabulary_checksum);
    return restored;
  };
  parts.place_checkpoint = [&](std::int64_t steps, const auto& commits) {
    state.place_checkpoint(steps, commits);
  };
  return run_replica(parts, machine, context, state,
                     {.access = access, .gradients = replica.state().shared_memory()});
}

TrainingRun::Epilogue TrainingRun::run_replica(TrainingParts parts, RunMachine& machine,
                                               const parallel::PipelineContext& context, RunState& state,
                                               const ExchangedState& exchanged) {
  const io::ReplicasSection& section = rank_.deck().replicas;
  comm::FtarOptions exchange =
      exchange_options(rank_.deck(), machine.device().kind(), machine.transport()->addresses());
  exchange.memory = exchanged.gradients;
  rehearse(parts);
  ReplicaLink link(rank_, machine);
  if (rank_.seat()->is_spare()) take_place(link.wait_for_place(), state, parts);
  link.check_in(build_);
  resilience::ReplicaSession session(
      rank_.control(), *machine.transport(), machine.state_transport(), machine.device(), link.leader(),
      link.frozen(), exchanged.access, machine.step_points(),
      {.replica = rank_.seat()->replica,
       .rank = rank_.world().rank(),
       .exchange = exchange,
       .join_wait_s = kSecondsPerMs * static_cast<double>(section.join_wait_ms),
       .deadline_s = rank_.deck().comm.deadline_s,
       .state_bytes_per_s = state_bytes_per_s(rank_.deck()),
       .must_stop = [this] { return signals_.requested(); }});
  rank_.on_first([&] {
    io::JsonObject details;
    details.add("ranks", rank_.world().size()).add("name", rank_.deck().run.name);
    if (const auto& transport = machine.transport_text()) details.add("transport", transport->json());
    rank_.write_event("start", 0, details);
  });
  parts.peers = &session;
  parts.records_directory = rank_.records_directory();
  return run_loop(parts, context, 0);
}

void TrainingRun::take_place(resilience::ReplicaId id, RunState& state, const TrainingParts& parts) {
  rank_.take_place(id);
  if (on_place_) on_place_(rank_.join_file());
  state.take_place();
  if (parts.checkpoints) parts.checkpoints->set_writer(checkpoint_writer(id.replica, id.incarnation));
}

TrainingRun::Epilogue TrainingRun::train_emulated(RunState& state, RunMachine& machine,
                                                  const parallel::Layout& layout,
                                                  const parallel::PipelineContext& context) {
  const parallel::EmulatedReplica::Options options{
      .load = emulated_load(rank_.deck()), .optimizer_s = kSecondsPerMs * rank_.deck().device.optimizer_ms};
  parallel::SwappableReplica replica(layout, context,
                                     [&](const parallel::ProcessGrid& grid, const parallel::Replica*) {
                                       return std::make_unique<parallel::EmulatedReplica>(
                                           layout, grid, context, *machine.emulated(), options);
                                     });
  state.open_directory(machine.transport_text());
  unended_steps_ = state.steps();
  state.leave_ledger();
  GridSwap swap(replica, [&](auto& from, auto& to, comm::ControlGroup& control) {
    const auto bytes = static_cast<std::uint64_t>(rank_.deck().device.state_bytes);
    return move_emulated_state(from, to, control, context, bytes, roads(machine));
  });
  TrainingParts parts = parts_of(replica, context, state, machine);
  if (machine.has_room_for_swap()) parts.swap = &swap;
  return run_loop(parts, context, 0);
}

TrainingRun::Epilogue TrainingRun::train_model(RunState& state, RunMachine& machine,
                                               const parallel::Layout& layout,
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
  unended_steps_ = state.steps();
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
  TrainingParts parts = parts_of(replica, context, state, machine);
  if (machine.has_room_for_swap()) parts.swap = &swap;
  parts.training = data.training();
  parts.validation = data.validation();
  parts.checkpoints = checkpoints.get();
  std::optional<ReplaySteps> replay;
  if (!replay_folder_.empty()) {
    rank_.control().agree([&] { replay.emplace(rank_, model(), machine.device(), replay_folder_); });
    parts.points = &*replay;
  }
  return run_loop(parts, context, state.steps());
}

resilience::MoveRoads TrainingRun::roads(RunMachine& machine) const {
  machine.connect_ranks();
  return {.transport = *machine.transport(),
          .peers = machine.peers(),
          .deadline_s = rank_.deck().comm.deadline_s};
}

TrainingParts TrainingRun::parts_of(parallel::Replica& replica, const parallel::PipelineContext& context,
                                    RunState& state, RunMachine& machine) {
  return {.deck = rank_.deck(),
          .replica = replica,
          .context = context,
          .probe = machine.create_probe(),
          .injector = machine.injector(),
          .compute_faults = machine.compute_faults(),
          .sample_offset = state.sample_offset(),
          .lock = state.lock(),
          .place = {.host = rank_.world().host(), .device = label_of(machine.device())},
          .device = machine.device(),
          .path_news = machine.path_news(),
          .signals = signals_,
          .console = rank_.console(),
          .machine_flop_per_second = machine.flop_per_second(),
          .started_s = started_s_,
          .judges_times = machine.judges_times()};
}

TrainingRun::Epilogue TrainingRun::run_loop(TrainingParts parts, const parallel::PipelineContext& context,
                                            std::int64_t first_step) {
  std::optional<resilience::PipelineAdaptation> adaptation;
  resilience::AdaptationSettings settings = adaptation_settings(rank_.deck());
  settings.answers = resilience::PipelineAdaptation::is_needed(parts.replica, settings);
  const bool looks_for_slow_links = parts.probe && parts.replica.layout().grid.pipeline > 1;
  const auto adapt = [&] { adaptation.emplace(parts.replica, context, settings); };
  if (settings.answers || looks_for_slow_links) {
    adapt();
    if (parts.swap) parts.swap->then(adapt);
  }
  parts.adaptation = adaptation ? &*adaptation : nullptr;
  unended_steps_ = first_step;
  TrainingLoop loop(parts, first_step);
  const std::string reason = run(loop);
  if (reason == kRestart) status_ = kRestartStatus;
  rank_.on_first([&] {
    io::JsonObject details;
    details.add("reason", reason);
    if (rank_.deck().detect.enabled)
      details.add("tracking_share", loop.tracking_share())
          .add("lost_seconds", loop.lost_s())
          .add("mitigation_seconds", loop.mitigation_s());
    rank_.write_event("end", loop.steps_done(), details);
  });
  unended_steps_.reset();
  return closing(loop.steps_done(), reason);
}

// The reason of the end.
std::string TrainingRun::run(TrainingLoop& loop) {
  try {
    return loop.run();
  } catch (const std::exception&) {
    unended_steps_ = loop.steps_done();
    try {  // alone: the others may be gone. The first error says more than one about these events.
      if (rank_.is_first()) loop.log_open_adaptations();
    } catch (const kernels::Error&) {
    }
    throw;
  }
}

// A rank that fails alone tells of it; another one may have done so.
void TrainingRun::record_failure(const std::string& message) const {
  if (!unended_steps_) return;
  try {
    const auto last = io::last_event(rank_.records_directory());
    if (last && last->event == "end") return;
    rank_.write_event("end", *unended_steps_, io::JsonObject{}.add("reason", "failed").add("error", message));
  } catch (const kernels::Error&) {  // the message says more than one about this event
  }
}

TrainingRun::Epilogue TrainingRun::already_finished(std::int64_t steps) const {
  if (!rank_.is_first()) return {};
  return [directory = rank_.deck().run.output_dir, steps] {
    Console(true).say(
        format("the run in %s is finished (%lld steps done); to go on, give it more run.train_steps, "
               "another run.name, or run.resume=never",
               directory.c_str(), static_cast<long long>(steps)));
  };
}

TrainingRun::Epilogue TrainingRun::closing(std::int64_t steps, const std::string& reason) const {
  if (!rank_.is_first()) return {};
  const auto lines = [deck = rank_.deck(), steps, reason] { write_closing_lines(deck, steps, reason); };
  if (reason == "completed") return lines;
  lines();  // now: mpirun kills ranks that it has asked to stop a second later, be it in MPI_Finalize
  return {};
}

}  // namespace tenax::app
