#include "app/training/replica_run.hpp"

#include <optional>
#include <utility>

#include "app/options.hpp"
#include "app/training/initial_weights.hpp"
#include "app/training/peer_state.hpp"
#include "app/training/replica_link.hpp"
#include "app/training/training_data.hpp"
#include "app/training/training_step.hpp"
#include "app/units.hpp"
#include "io/checkpoint/rank_hosts.hpp"
#include "io/json.hpp"
#include "parallel/replica/emulated_replica.hpp"

namespace tenax::app {

namespace {

// Of one rank.
double state_bytes_per_s(const io::Deck& deck) {
  constexpr double kBytesPerGbit = 1e9 / 8;
  return deck.replicas.state_gbps * kBytesPerGbit / static_cast<double>(deck.parallel.ranks());
}

}  // namespace

ReplicaRun::ReplicaRun(RunRank& rank, const Build& build, StopSignals& signals, LoopRunner& loop,
                       RunState& state, RunMachine& machine, const parallel::PipelineContext& context,
                       std::function<void(const std::filesystem::path&)> on_place)
    : rank_(rank),
      build_(build),
      signals_(signals),
      loop_(loop),
      state_(state),
      machine_(machine),
      context_(context),
      on_place_(std::move(on_place)) {}

Epilogue ReplicaRun::train_emulated(const parallel::Layout& layout) {
  parallel::EmulatedReplica replica(layout, parallel::ProcessGrid(layout.grid), context_,
                                    *machine_.emulated(), emulated_replica_options(rank_.deck()));
  TrainingParts parts = loop_.parts(replica, context_, state_, machine_);
  parts.restore = [] { return RestoredState{}; };
  return train(parts, {}, {});
}

Epilogue ReplicaRun::train_model(const parallel::Layout& layout) {
  parallel::GptReplica replica(layout, parallel::ProcessGrid(layout.grid), context_, {});
  TrainingData data(rank_);
  data.open();
  const auto checkpoints = state_.create_checkpoints(replica, data, build_);
  const resilience::StateSlices slices(state_ranges(replica.mirror()));
  const resilience::StateAccess access = access_to(replica, slices, *checkpoints);
  std::optional<PeerState> peer_state;
  rank_.control().agree([&] { peer_state.emplace(rank_, replica); });
  TrainingParts parts = loop_.parts(replica, context_, state_, machine_);
  parts.peer_state = &*peer_state;
  parts.training = data.training();
  parts.validation = data.validation();
  parts.checkpoints = checkpoints.get();
  parts.restore = [&] {
    if (access.release) access.release([] {});
    const RestoredState restored = state_.restore(replica, data);
    checkpoints->set_tokenizer(data.claim().tokenizer, data.claim().vocabulary_checksum);
    return restored;
  };
  parts.keep_commits = [this](const auto& commits) { state_.keep_commits(commits); };
  parts.place_checkpoint = [this](std::int64_t steps, const auto& commits) {
    state_.place_checkpoint(steps, commits);
  };
  return train(parts, {.access = access, .gradients = replica.state().shared_memory()}, data.checksum());
}

resilience::StateAccess ReplicaRun::access_to(parallel::GptReplica& replica,
                                              const resilience::StateSlices& slices,
                                              resilience::CheckpointManager& checkpoints) const {
  const double deadline_s = rank_.deck().comm.deadline_s;
  resilience::StateAccess access{.slices = &slices};
  access.publish = [&replica, deadline_s] {
    replica.state().publish_weights(kernels::Deadline::after_s(deadline_s));
  };
  if (!replica.mirror().is_copy()) return access;
  access.bring = [&replica, &checkpoints, deadline_s] {
    if (checkpoints.is_saving()) return false;
    replica.mirror().fetch(kernels::Deadline::after_s(deadline_s));
    return true;
  };
  access.release = [&checkpoints, patience_s = file_patience_s(rank_.deck())](const auto& waiting) {
    checkpoints.abandon(patience_s, waiting);
  };
  access.put = [&replica, deadline_s] { replica.mirror().store(kernels::Deadline::after_s(deadline_s)); };
  return access;
}

Epilogue ReplicaRun::train(TrainingParts parts, const ExchangedState& exchanged, const std::string& data) {
  rehearse(parts);
  ReplicaLink link(rank_, machine_);
  if (rank_.seat()->is_spare()) take_place(link.wait_for_place(), parts);
  link.check_in(build_, data);
  resilience::ReplicaSession session(rank_.control(), *machine_.transport(), machine_.state_transport(),
                                     machine_.device(), link.leader(), link.frozen(), exchanged.access,
                                     machine_.step_points(), session_options(exchanged));
  record_start();
  parts.peers = &session;
  parts.records_directory = rank_.records_directory();
  return loop_.run(parts, context_, 0);
}

resilience::ReplicaSession::Options ReplicaRun::session_options(const ExchangedState& exchanged) const {
  const io::Deck& deck = rank_.deck();
  comm::FtarOptions exchange =
      exchange_options(deck, machine_.device().kind(), machine_.transport()->addresses());
  exchange.memory = exchanged.gradients;
  return {.replica = rank_.seat()->replica,
          .rank = rank_.world().rank(),
          .exchange = exchange,
          .join_wait_s = kSecondsPerMs * static_cast<double>(deck.replicas.join_wait_ms),
          .deadline_s = deck.comm.deadline_s,
          .state_bytes_per_s = state_bytes_per_s(deck),
          .must_stop = [this] { return signals_.requested(); }};
}

void ReplicaRun::take_place(resilience::ReplicaId id, const TrainingParts& parts) {
  rank_.take_place(id);
  if (on_place_) on_place_(rank_.join_file());
  state_.take_place();
  if (parts.checkpoints) parts.checkpoints->set_writer(checkpoint_writer(id.replica, id.incarnation));
}

void ReplicaRun::record_start() {
  rank_.on_first([&] {
    io::JsonObject details;
    details.add("ranks", rank_.world().size()).add("name", rank_.deck().run.name);
    if (const auto& transport = machine_.transport_text()) details.add("transport", transport->json());
    rank_.write_event("start", 0, details);
  });
}

}  // namespace tenax::app
