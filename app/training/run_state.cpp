#include "app/training/run_state.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/launch/left_checkpoint.hpp"
#include "app/launch/unrecorded_commits.hpp"
#include "app/options.hpp"
#include "app/progress.hpp"
#include "app/stop_signals.hpp"
#include "app/training/initial_weights.hpp"
#include "app/units.hpp"
#include "io/checkpoint/rank_hosts.hpp"
#include "io/hugging_face/gpt2_model.hpp"
#include "io/run/ledger.hpp"
#include "io/run/lock_watch.hpp"
#include "io/run/run_files.hpp"
#include "kernels/host.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "parallel/state/optimizer.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::app {

using kernels::Deadline;

namespace {

std::vector<std::string> names_of(const std::vector<resilience::PassedOver>& files) {
  std::vector<std::string> names;
  for (const resilience::PassedOver& file : files) names.push_back(file.name);
  return names;
}

}  // namespace

// The one that had the place before may still be ending.
void RunState::take_place() {
  constexpr double kPatience_s = 10;
  const auto latest = Deadline::after_s(kPatience_s);
  rank_.on_first([&] {
    while (true) try {
        replica_lock_.emplace(rank_.records_directory());
        return;
      } catch (const kernels::Error&) {
        if (latest.expired()) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
  });
}

RunState RunState::of_replica(RunRank& rank) { return RunState(rank, Owner::replica); }

RunState RunState::of_successor(RunRank& rank) { return RunState(rank, Owner::successor); }

RunState::RunState(RunRank& rank) : RunState(rank, Owner::run) {}

RunState::RunState(RunRank& rank, Owner owner) : rank_(rank) {
  if (owner == Owner::replica) {
    rank_.on_first([&] { replica_lock_.emplace(rank_.records_directory()); });
    return;
  }
  if (owner == Owner::successor) {
    rank_.on_first([&] { lock_.emplace(rank_.deck(), io::RunLock::Replicas::may_live); });
    return;
  }
  watch_left_locks();
  rank_.on_first([&] {
    lock_.emplace(rank_.deck());
    place_left_checkpoint();
  });
  start_ = decide_start(rank_.control(), rank_.deck());
  for (const resilience::PassedOver& file : start_.passed_over)
    rank_.console().warn("a checkpoint that is not complete is passed over: " + file.reason);
}

// The newest checkpoint is the one that the run resumes from, whoever had to give it its place.
void RunState::place_left_checkpoint() const {
  if (!rank_.deck().run.resumes_newest()) return;
  if (const auto placed = app::place_left_checkpoint(rank_.deck()))
    rank_.console().say("a replica without a supervisor has left " + placed->string());
}

// Of an earlier run whose first host died.
void RunState::watch_left_locks() {
  std::optional<io::LockWatch> watch;
  comm::agree_in_rounds(rank_.control(), [&] {
    if (!rank_.is_first()) return false;
    if (!watch) {
      watch.emplace(io::RunLock::directories(rank_.deck()));
      if (!watch->is_over()) rank_.console().say(watch->text());
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      if (StopSignals::is_pending())
        throw kernels::Error(kernels::Scope::rank, "stopped by a signal before the run began");
      watch->look();
    }
    return !watch->is_over();
  });
}

// A checkpoint holds a weight's value and its moments, of four bytes each.
void RunState::check_disk() const {
  rank_.on_first([&] {
    const io::CheckpointSection& section = rank_.deck().checkpoint;
    if (section.interval < 0) return;
    std::int64_t parameters = 0;
    for (const io::NamedShape& parameter : io::gpt2_parameters(rank_.deck().model))
      parameters += parameter.shape.size();
    const std::size_t numbers = 1 + optimizer_of(rank_.deck()).moments.size();
    const std::int64_t bytes = parameters * static_cast<std::int64_t>(numbers * sizeof(float));
    resilience::remove_half_written_checkpoints(section.dir);
    const std::string warning = resilience::check_room_for_checkpoints(
        section.dir, {bytes, section.keep, start_.checkpoint ? start_.steps : -1});
    if (!warning.empty()) rank_.console().warn(warning);
  });
}

void RunState::load(parallel::GptReplica& replica, TrainingData& data) {
  if (start_.checkpoint) {
    const io::CheckpointInfo& info = start_.checkpoint->info();
    start_.checkpoint->read(state_ranges(replica.mirror()));
    data.compare(io::claim_of_checkpoint(start_.checkpoint->file(), info));
    warn_of_changes();
    const std::string missing = missing_moments(info, replica.mirror().optimizer().moments);
    if (!missing.empty()) rank_.console().warn("resuming: " + missing);
  } else {
    initialise(replica, data);
  }
  const double deadline_s = rank_.deck().comm.deadline_s;
  replica.mirror().store(Deadline::after_s(deadline_s));
  replica.state().publish_weights(Deadline::after_s(deadline_s));
}

void RunState::warn_of_changes() const {
  if (!start_.checkpoint) return;
  for (const std::string& change : changed_settings(rank_.deck(), start_.checkpoint->info().deck))
    rank_.console().warn("resuming: " + change);
}

RestoredState RunState::restore(parallel::GptReplica& replica, TrainingData& data) {
  const io::Deck& deck = rank_.deck();
  start_ = newest_start();
  load(replica, data);
  RestoredState restored{.steps = start_.steps, .next_sample = start_.steps * deck.batch.global_batch_size};
  if (start_.checkpoint)
    restored.next_sample = start_.checkpoint->info().next_sample.value_or(restored.next_sample);
  return restored;
}

std::int64_t RunState::sample_offset() const {
  if (!start_.checkpoint || !start_.checkpoint->info().next_sample) return 0;
  const io::CheckpointInfo& info = start_.checkpoint->info();
  try {
    const io::Deck before = io::parse_resolved_deck(info.deck);
    if (*info.next_sample == info.step * before.batch.global_batch_size) return 0;
  } catch (const kernels::Error&) {  // another version's: what it says of the samples counts
  }
  return *info.next_sample - info.step * rank_.deck().batch.global_batch_size;
}

// A checkpoint that the run was told to begin with counts until the run has a newer one.
RunStart RunState::newest_start() {
  io::Deck deck = rank_.deck();
  const std::string told = rank_.seat()->resume;
  const bool is_told = told != "never" && told != "auto";
  deck.run.resume = told == "never" && !has_restored_ ? told : "auto";
  has_restored_ = true;
  if (!is_told) return decide_start(rank_.control(), deck);
  std::optional<RunStart> newest = start_if_any(deck);
  deck.run.resume = told;
  if (!newest || !newest->checkpoint) return decide_start(rank_.control(), deck);
  std::optional<RunStart> start = start_if_any(deck);
  return start && start->steps >= newest->steps ? std::move(*start) : std::move(*newest);
}

// Collective. What cannot be used is as if it were not there.
std::optional<RunStart> RunState::start_if_any(const io::Deck& deck) const {
  try {
    return decide_start(rank_.control(), deck);
  } catch (const comm::AgreedError&) {
    return {};
  }
}

// A run that was started again has written other join files, or removed them: it is not this replica's any more.
void RunState::place_checkpoint(std::int64_t steps,
                                const std::vector<resilience::CommitRecord>& unrecorded) const {
  rank_.on_first([&] {
    const JoinFile& seat = *rank_.seat();
    const JoinFile now = JoinFile::read(rank_.join_file());
    if (now.run_id != seat.run_id || now.incarnation != seat.incarnation) return;
    const io::CheckpointSection& section = rank_.deck().checkpoint;
    write_unrecorded(rank_.records_directory(),
                     unrecorded);  // first: a checkpoint must not be of steps that nobody knows
    resilience::place_checkpoint(section.dir, steps, checkpoint_writer(seat.replica, seat.incarnation),
                                 section.keep);
  });
}

void RunState::initialise(parallel::GptReplica& replica, TrainingData& data) {
  const io::ModelSection& section = rank_.deck().model;
  const std::string& weights = section.init_weights;
  const bool is_checkpoint = weights.ends_with(".h5");
  const model::GptConfig& config = replica.layout().config;
  Preparation shown(rank_.console(),
                    "initialising " + count_text(static_cast<double>(config.parameters())) + " weights");
  rank_.control().agree([&] {
    app::initialise(replica.mirror(), config, static_cast<std::uint64_t>(rank_.deck().run.seed),
                    kernels::usable_cores() / rank_.world().ranks_on_host(),
                    [&](double part) { shown.show(part); });
    if (!weights.empty() && !is_checkpoint) load_initial_weights(replica.mirror(), section);
  });
  if (is_checkpoint)
    data.compare(io::claim_of_checkpoint(
        weights, load_initial_checkpoint(rank_.control(), replica.mirror(), section)));
  else if (!weights.empty())
    data.compare({weights, "", ""});
}

void RunState::open_directory(const std::optional<TransportText>& transport) {
  rank_.on_first([&] {
    const io::Deck& deck = rank_.deck();
    Console& console = rank_.console();
    if (const auto moved = lock_->move_old_run(deck))
      console.say("moved the previous run to " + moved->string());
    // Checkpoints of a future that this run does not have would be taken for its own at the next resume.
    const std::int64_t latest = start_.checkpoint ? start_.steps : -1;
    for (const auto& file : resilience::set_aside_checkpoints(deck.checkpoint.dir, latest))
      console.warn("an older run's checkpoint is kept as " + file.string());
    io::write_resolved_deck(deck);
    io::JsonObject details;
    details.add("ranks", rank_.world().size()).add("name", deck.run.name);
    if (transport) details.add("transport", transport->json());
    if (!start_.checkpoint) return rank_.write_event("start", 0, details);
    const std::string file = start_.checkpoint->file().string();
    details.add("checkpoint", file).add("passed_over", names_of(start_.passed_over));
    console.say(
        format("resuming from %s after %lld steps", file.c_str(), static_cast<long long>(start_.steps)));
    rank_.write_event("resume", start_.steps, details);
  });
}

void RunState::leave_ledger() const {
  rank_.on_first([&] {
    if (const auto kept = io::set_ledger_aside(rank_.deck().run.output_dir))
      rank_.console().warn(
          "steps without tenax launch are in no ledger: that of the steps before is kept as " +
          kept->string());
  });
}

std::function<void()> RunState::fetch_of(parallel::GptReplica& replica) const {
  if (!replica.mirror().is_copy()) return {};
  return [&replica, deadline_s = rank_.deck().comm.deadline_s] {
    replica.mirror().fetch(Deadline::after_s(deadline_s));
  };
}

std::unique_ptr<resilience::CheckpointManager> RunState::create_checkpoints(parallel::GptReplica& replica,
                                                                            const TrainingData& data,
                                                                            const Build& build) const {
  // A save may wait for a slow file system where training must not wait for a peer.
  constexpr double kDeadline_s = 3600;
  const io::Deck& deck = rank_.deck();
  rank_.world().set_options({std::max(kDeadline_s, deck.comm.deadline_s)});
  auto saving = rank_.world().control_group();
  rank_.world().set_options({deck.comm.deadline_s});
  resilience::CheckpointOptions options{
      .directory = deck.checkpoint.dir, .keep = deck.checkpoint.keep, .model = deck.model};
  options.global_batch_size = deck.batch.global_batch_size;
  if (const JoinFile* seat = rank_.seat())
    options.writer = checkpoint_writer(seat->replica, seat->incarnation);
  const std::vector<std::string> hosts = rank_.control().all_gather(rank_.world().host());
  if (rank_.is_first())
    options.origin = {data.claim().tokenizer,
                      data.claim().vocabulary_checksum,
                      deck.model.compute_dtype.word(),
                      build.version,
                      build.commit,
                      rank_.seat() ? std::to_string(rank_.seat()->replica) : "",
                      io::hosts_text(hosts)};
  options.fetch = fetch_of(replica);
  options.ranks_on_host = rank_.world().ranks_on_host();
  return std::make_unique<resilience::CheckpointManager>(std::move(options), std::move(saving),
                                                         state_ranges(replica.mirror()));
}

}  // namespace tenax::app
