#include "app/training/run_state.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/launch/left_checkpoint.hpp"
#include "app/launch/unrecorded_commits.hpp"
#include "app/launch/unrecorded_steps.hpp"
#include "app/options.hpp"
#include "app/progress.hpp"
#include "app/stop_signals.hpp"
#include "app/training/checkpoint_owner.hpp"
#include "app/training/initial_weights.hpp"
#include "app/training/lost_checkpoints.hpp"
#include "app/units.hpp"
#include "io/checkpoint/rank_hosts.hpp"
#include "io/hugging_face/gpt2_model.hpp"
#include "io/run/ledger.hpp"
#include "io/run/lock_watch.hpp"
#include "io/run/old_run.hpp"
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

/// What a checkpoint is that the run does not go on from, by the name that it is kept by: one more ending.
std::string kind_of(const std::filesystem::path& kept, const RunStart& start) {
  const std::string name = kept.stem();
  const bool is_incomplete = std::any_of(start.passed_over.begin(), start.passed_over.end(),
                                         [&](const auto& passed) { return passed.name == name; });
  if (is_incomplete) return "the checkpoint that is not complete";
  return start.checkpoint ? "a checkpoint of later steps than the run goes on from"
                          : "an older run's checkpoint";
}

bool is_held(const std::filesystem::path& directory) {
  try {
    io::DirectoryLock::check_free(directory);
    return false;
  } catch (const kernels::Error&) {
    return true;
  }
}

}  // namespace

void RunState::take_place() { lock_replica(); }

// The one that had the place before may still be ending: memory of hundreds of GB goes before its files close.
void RunState::lock_replica() {
  constexpr double kPatience_s = 60, kShare = 0.8;  // before the other ranks' patience ends
  const auto latest = Deadline::after_s(std::min(kPatience_s, kShare * restore_patience_s(rank_.deck())));
  on_first_patiently([&] {
    const std::filesystem::path directory = rank_.records_directory();
    while (is_held(directory) && !latest.expired())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    replica_lock_.emplace(directory);
  });
}

RunState RunState::of_replica(RunRank& rank) { return RunState(rank, Owner::replica); }

RunState RunState::of_successor(RunRank& rank) { return RunState(rank, Owner::successor); }

RunState::RunState(RunRank& rank) : RunState(rank, Owner::run) {}

RunState::RunState(RunRank& rank, Owner owner)
    : rank_(rank), reading_(rank.patient_group(restore_patience_s(rank.deck()))) {
  if (owner == Owner::replica) {
    lock_replica();
    return;
  }
  if (owner == Owner::successor) {
    rank_.on_first([&] { lock_.emplace(rank_.deck(), io::RunLock::Replicas::may_live); });
    return;
  }
  watch_left_locks();
  if (is_stopped_) return;
  rank_.on_first([&] {
    lock_.emplace(rank_.deck());
    io::check_old_run_moves_alone(
        rank_.deck(), rank_.deck_file(),
        rank_.is_supervisor() ? io::FirstWeights::after_the_move : io::FirstWeights::before_the_move);
    place_left_checkpoint();
  });
  look_for_start();
  check_owner();
  for (const resilience::PassedOver& file : start_.passed_over)
    rank_.console().warn("a checkpoint that is not complete is passed over: " + file.reason);
}

// The newest checkpoint is the one that the run resumes from, whoever had to give it its place.
void RunState::place_left_checkpoint() const {
  if (!may_place_checkpoints(rank_.deck()) || !rank_.deck().run.resumes_newest()) return;
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
      is_stopped_ = StopSignals::is_pending();
      if (!is_stopped_) watch->look();
    }
    return !is_stopped_ && !watch->is_over();
  });
  agree_on_stop();
}

void RunState::agree_on_stop() {
  is_stopped_ = !rank_.control().broadcast(is_stopped_ ? "stopped" : "", 0).empty();
  if (is_stopped_) rank_.console().say("stopped by a signal before the run began");
}

// To read all of a large checkpoint takes minutes, a supervisor alone with it even more.
void RunState::look_for_start() {
  std::optional<Preparation> shown;
  const auto look = [&](std::int64_t done, std::int64_t share) {
    if (!rank_.is_first()) return;
    is_stopped_ = StopSignals::is_pending();
    if (is_stopped_) throw kernels::Error(kernels::Scope::job, "stopped by a signal");
    const auto bytes = static_cast<double>(share);
    if (done == 0)
      shown.emplace(rank_.console(), "verifying a checkpoint of " + bytes_text(bytes * rank_.world().size()));
    shown->show(static_cast<double>(done) / std::max(bytes, 1.0));
  };
  const int threads = rank_.world().size() == 1 ? kernels::usable_cores() : 1;
  try {
    start_ = decide_start(*reading_, rank_.deck(), -1, {.threads = threads, .look = look});
  } catch (const comm::AgreedError&) {  // of all ranks
    agree_on_stop();
    if (!is_stopped_) throw;
  }
}

void RunState::check_owner() const {
  if (is_stopped_) return;
  rank_.on_first([&] {
    const std::string warning = check_checkpoint_owner(rank_.deck(), start_);
    if (!warning.empty()) rank_.console().warn(warning);
  });
}

void RunState::on_first_patiently(const std::function<void()>& work) const {
  reading_->agree([&] {
    if (rank_.is_first()) work();
  });
}

// A checkpoint holds a weight's value and its moments, of four bytes each.
void RunState::check_disk() const {
  on_first_patiently([&] {
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
    warn_of_files(data.checksum());
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
  for (const std::string& change :
       changes_on_resume(rank_.deck(), start_.checkpoint->info().deck, next_sample()))
    rank_.console().warn("resuming: " + change);
}

void RunState::warn_of_files(const std::string& data_checksum) const {
  if (!start_.checkpoint) return;
  const std::string others = changed_files(rank_.deck(), start_.checkpoint->info(), data_checksum);
  if (!others.empty()) rank_.console().warn("resuming: " + others);
}

RestoredState RunState::restore(parallel::GptReplica& replica, TrainingData& data) {
  start_ = newest_start();
  load(replica, data);
  return {.steps = start_.steps, .next_sample = next_sample()};
}

std::int64_t RunState::next_sample() const {
  if (start_.checkpoint) try {
      return next_sample_of(start_.checkpoint->info());
    } catch (const kernels::Error&) {  // nobody knows which batch its steps had
    }
  return samples_of_step(rank_.deck(), start_.steps).first;
}

std::int64_t RunState::sample_offset() const {
  return next_sample() - samples_of_step(rank_.deck(), start_.steps).first;
}

// A checkpoint that the run was told to begin with counts until the run has a newer one.
RunStart RunState::newest_start() {
  io::Deck deck = rank_.deck();
  const std::string told = rank_.seat()->resume;
  const bool is_told = told != "never" && told != "auto";
  deck.run.resume = told == "never" && !has_restored_ ? told : "auto";
  has_restored_ = true;
  if (!is_told) return decide_start(*reading_, deck);
  io::Deck as_told = deck;
  as_told.run.resume = told;
  std::optional<RunStart> start;
  std::exception_ptr unreadable;
  try {
    start = start_if_any(as_told);
  } catch (const resilience::UnreadableCheckpoint&) {  // it counts where the run has none of its own
    unreadable = std::current_exception();
  }
  std::optional<RunStart> newest = start_if_any(deck, start ? start->steps : -1);
  if (newest && newest->checkpoint) return std::move(*newest);
  if (unreadable) std::rethrow_exception(unreadable);
  return start ? std::move(*start) : decide_start(*reading_, as_told);
}

// Collective. What cannot be used is as if it were not there; what cannot be read is there.
std::optional<RunStart> RunState::start_if_any(const io::Deck& deck, std::int64_t after_step) const {
  try {
    return decide_start(*reading_, deck, after_step);
  } catch (const resilience::UnreadableCheckpoint&) {
    throw;
  } catch (const comm::AgreedError&) {
    return {};
  }
}

// A run that was started again has written other join files, or removed them: it is not this replica's any more.
bool RunState::has_seat() const { return JoinFile::read(rank_.join_file()).is_of_same_start(*rank_.seat()); }

// Training goes on without them, as it does without a checkpoint.
void RunState::keep_commits(const std::vector<resilience::CommitRecord>& unrecorded) const {
  if (!rank_.is_first() || unrecorded.empty()) return;
  try {
    if (has_seat()) write_unrecorded(rank_.records_directory(), unrecorded);
  } catch (const kernels::Error& error) {
    rank_.console().warn(std::string("steps that no supervisor has recorded are not kept: ") + error.what());
  }
}

void RunState::place_checkpoint(std::int64_t steps,
                                const std::vector<resilience::CommitRecord>& unrecorded) const {
  rank_.on_first([&] {
    if (!has_seat()) return;
    const JoinFile& seat = *rank_.seat();
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
  reading_->agree([&] {
    app::initialise(replica.mirror(), config, static_cast<std::uint64_t>(rank_.deck().run.seed),
                    kernels::usable_cores() / rank_.world().ranks_on_host(),
                    [&](double part) { shown.show(part); });
    if (!weights.empty() && !is_checkpoint) load_initial_weights(replica.mirror(), section);
  });
  if (is_checkpoint)
    data.compare(
        io::claim_of_checkpoint(weights, load_initial_checkpoint(*reading_, replica.mirror(), section)));
  else if (!weights.empty())
    data.compare({weights, "", ""});
}

void RunState::open_directory(const std::optional<TransportText>& transport) {
  on_first_patiently([&] {
    const io::Deck& deck = rank_.deck();
    Console& console = rank_.console();
    if (const auto moved = lock_->move_old_run(deck))
      console.say("moved the previous run to " + moved->string());
    // Checkpoints of a future that this run does not have would be taken for its own at the next resume.
    const std::int64_t latest = start_.checkpoint ? start_.steps : -1;
    auto kept = resilience::set_aside_checkpoints(deck.checkpoint.dir, latest);
    if (!deck.run.resumes_newest())  // else what of these was the run's has its place
      for (auto& file : resilience::set_aside_pending_checkpoints(deck.checkpoint.dir, latest))
        kept.push_back(std::move(file));
    for (const auto& file : kept) console.warn(kind_of(file, start_) + " is kept as " + file.string());
    const auto lost = start_.checkpoint ? std::nullopt : leave_lost_steps(deck);
    if (lost) console.warn(*lost);
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
    try {
      record_left_steps(rank_.deck(), start_.steps);
    } catch (const kernels::Error& error) {  // training can do without
      rank_.console().warn(std::string("metrics may lack steps that replicas have done: ") + error.what());
    }
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
  const io::Deck& deck = rank_.deck();
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
                      io::hosts_text(hosts),
                      "",
                      data.checksum()};
  options.fetch = fetch_of(replica);
  options.ranks_on_host = rank_.world().ranks_on_host();
  options.room_wait_s = std::min(options.room_wait_s, deck.comm.deadline_s);
  return std::make_unique<resilience::CheckpointManager>(
      std::move(options), rank_.patient_group(file_patience_s(deck)), state_ranges(replica.mirror()));
}

}  // namespace tenax::app
