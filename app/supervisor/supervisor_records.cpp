#include "app/supervisor/supervisor_records.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "app/effective_text.hpp"
#include "app/launch/launch_files.hpp"
#include "app/launch/unrecorded_steps.hpp"
#include "app/supervisor/observed_line.hpp"
#include "app/training/step_lines.hpp"
#include "app/units.hpp"
#include "comm/failure.hpp"
#include "io/run/metrics_lines.hpp"
#include "resilience/blame/hang_file.hpp"

namespace tenax::app {

using io::JsonObject;

SupervisorRecords::SupervisorRecords(const io::Deck& deck, Console& console, std::int64_t steps_done,
                                     resilience::EffectiveTime time)
    : deck_(deck), console_(console), events_(deck.run.output_dir, console), time_(std::move(time)) {
  open_files(steps_done);
  validated_ = io::recorded_metrics(deck.run.output_dir).validations;
}

// What steps beyond `steps_done` have left in them is cut off.
void SupervisorRecords::open_files(std::int64_t steps_done) {
  metrics_.reset();
  metrics_ = std::make_unique<io::MetricsWriter>(deck_.run.output_dir, steps_done);
  tensorboard_.reset();
  if (deck_.run.tensorboard)
    tensorboard_ = std::make_unique<io::TensorBoardWriter>(deck_.run.output_dir, steps_done);
  set_steps_done(steps_done);
  watch_iterations(are_crowded_);
  replicas_.emplace(deck_.detect, events_, console_);
}

void SupervisorRecords::watch_iterations(bool are_crowded) {
  are_crowded_ = are_crowded;
  watch_.emplace(
      deck_.detect,
      [this](std::int64_t step, const std::string& name, const JsonObject& details) {
        events_.write_of_step(step, name, {}, details);
      },
      IterationWatch::Voice{.console = console_, .is_crowded = are_crowded});
}

void SupervisorRecords::set_steps_done(std::int64_t steps_done) {
  steps_done_ = steps_done;
  events_.set_steps_done(steps_done);
}

void SupervisorRecords::restore() {
  metrics_->file().restore();
  events_.restore();
}

void SupervisorRecords::hang(int replica, const resilience::HangDump& dump, const resilience::Blame& blame) {
  resilience::record_hang(replica_directory(deck_.run.output_dir, replica), dump, blame);
  events_.write("hang", replica, resilience::blame_json(dump, blame));
  const resilience::Culprit& first = blame.culprits.front();
  const resilience::HangDump::Rank& rank = dump.ranks[static_cast<std::size_t>(first.rank)];
  console_.say(format("replica %d hangs after step %lld: rank %d on %s: %s", replica,
                      static_cast<long long>(steps_done_), rank.rank, rank.host.c_str(),
                      first.operation.c_str()));
}

void SupervisorRecords::corrupt(const resilience::StateCorrupt& corrupt, const CorruptPlace& place,
                                const HostOfRank& host_of) {
  for (const io::RunEvent& event : corrupt_events(corrupt, place, host_of)) events_.write(event);
  console_.warn(corrupt_line(corrupt, place));
}

void SupervisorRecords::stragglers(const std::vector<resilience::RankTimes>& ranks) {
  std::vector<JsonObject> list;
  for (const resilience::RankTimes& rank : ranks)
    list.push_back(JsonObject{}
                       .add("replica", rank.replica)
                       .add("rank", rank.rank)
                       .add("host", rank.host)
                       .add("inside_seconds", rank.inside_s));
  const resilience::RankTimes& first = ranks.front();
  events_.write("straggler", first.replica,
                JsonObject{}.add("ranks", list).add("step_seconds", first.step_s));
}

void SupervisorRecords::hand_in(News news) {
  const std::lock_guard lock(mutex_);
  news_.push_back({.time_s = io::unix_time_s(), .news = std::move(news)});
}

std::vector<SupervisorRecords::News> SupervisorRecords::write() {
  write_news();
  return std::exchange(written_, {});
}

void SupervisorRecords::write_news() {
  std::vector<Told> told;
  {
    const std::lock_guard lock(mutex_);
    told.swap(news_);
  }
  for (Told& item : told) {
    if (has_failed_) break;  // what is written is to have no gap
    has_failed_ = true;
    events_.set_time(item.time_s);
    if (const auto* record = std::get_if<resilience::Record>(&item.news)) time_.take(*record);
    const auto* event = std::get_if<resilience::ServiceEvent>(&item.news);
    if (event && !is_recorded(*event)) time_.take(*event, item.time_s);
    std::visit([&](const auto& kind) { std::visit([&](const auto& what) { take(what); }, kind); }, item.news);
    written_.push_back(std::move(item.news));
    has_failed_ = false;
  }
  events_.set_time({});
}

// An evaluation of which another replica has told. The account is to be the one that the events give.
bool SupervisorRecords::is_recorded(const resilience::ServiceEvent& event) const {
  const auto* validated = std::get_if<resilience::StepValidated>(&event);
  return validated && validated_.contains(validated->validated.done);
}

void SupervisorRecords::launch(std::int64_t adopted) {
  if (adopted == 0) events_.set_time(time_.begin_s());
  event("launch", {}, JsonObject{}.add("adopted", adopted));
  events_.set_time({});
}

void SupervisorRecords::join(const resilience::ReplicaJoined& joined, double age_s) {
  const bool is_known = std::any_of(joins_.begin(), joins_.end(), [&](const Join& join) {
    return join.joined.id == joined.id && join.joined.joined.epoch == joined.joined.epoch;
  });
  if (!is_known) joins_.push_back({.joined = joined, .age_s = age_s});
}

template <class Test>
void SupervisorRecords::write_joins(const Test& is_due, double first_step_s) {
  for (const Join& join : joins_) {
    if (!is_due(join.joined.id)) continue;
    events_.take(join.joined, join.age_s, first_step_s);
    joined_.push_back(join.joined);
  }
  std::erase_if(joins_, [&](const Join& join) { return is_due(join.joined.id); });
}

std::vector<resilience::ReplicaJoined> SupervisorRecords::take_joins() { return std::exchange(joined_, {}); }

JsonObject SupervisorRecords::end(double time_s) {
  write_joins([](resilience::ReplicaId) { return true; }, 0);
  const resilience::TimeByCause time = time_.until(time_s);
  console_.say(effective_line(time));
  return effective_details(time).append(
      fail_slow_details(replica_directories(deck_.run.output_dir), time_.begin_s()));
}

void SupervisorRecords::complete() {
  const JsonObject time = end(time_.last_s());
  events_.set_time(time_.last_s());
  events_.write_of_host(comm::this_host(), "end", JsonObject{}.add("reason", "completed").append(time));
  events_.set_time({});
}

std::string SupervisorRecords::step_line(const io::TrainingMetrics& metrics) const {
  std::string line = format("step %6lld/%lld   ", static_cast<long long>(steps_done_),
                            static_cast<long long>(deck_.run.train_steps));
  if (deck_.device.kind != io::DeviceKind::emulated)
    line += format("loss %8.5f   grad norm %8.4f   lr %.3e   ", metrics.loss, metrics.grad_norm, metrics.lr);
  const auto replicas = static_cast<long long>(metrics.replicas.value_or(1));
  return line + format("%8.0f tokens/s   %lld replica%s", metrics.tokens_per_second, replicas,
                       replicas == 1 ? "" : "s");
}

// Where replicas have more or less to compute than before, or more or fewer to exchange it with.
std::optional<resilience::ExpectedLevel> SupervisorRecords::own_action(const resilience::CommitRecord& commit,
                                                                       std::size_t contributing) {
  if (commit.is_masked) return {};
  const double share =
      static_cast<double>(resilience::count_samples(commit.parts)) / static_cast<double>(contributing);
  const Work now{.replicas = contributing, .share = share}, before = std::exchange(work_, now);
  if (before.replicas == 0 || before == now) return {};
  return resilience::ExpectedLevel::other_work;
}

void SupervisorRecords::take(const resilience::CommitRecord& commit) {
  const io::TrainingMetrics metrics = metrics_of(
      commit, deck_.model.seq_length, seconds_of(commit, std::exchange(last_commit_s_, commit.time)));
  std::set<int> contributing;
  for (const resilience::Part& part : commit.parts) contributing.insert(part.replica);
  const bool is_finite = deck_.device.kind == io::DeviceKind::emulated ||
                         (std::isfinite(commit.loss) && std::isfinite(commit.grad_norm));
  divergence_.add(commit.step, is_finite);
  if (!is_finite)
    events_.write_of_step(commit.step, "skip", {},
                          JsonObject{}.add("loss", commit.loss).add("grad_norm", commit.grad_norm));
  if (commit.is_crowded != are_crowded_) watch_iterations(commit.is_crowded);
  if (const auto change = watch_->add(metrics, own_action(commit, contributing.size())))
    has_onset_ = change->is_onset();
  replicas_->take(commit);
  metrics_->training(metrics);
  if (tensorboard_) tensorboard_->training(metrics);
  set_steps_done(commit.step + 1);
  if (!joins_.empty())
    write_joins([&](resilience::ReplicaId id) { return contributing.contains(id.replica); },
                time_.of_step(commit.step).lost_s(resilience::LostCause::first_step));
  const bool is_last = steps_done_ == deck_.run.train_steps;
  if (steps_done_ % deck_.run.log_interval != 0 && !is_last) return;
  console_.say(step_line(metrics));
}

// What an epoch is about, EpochBegan says. Its first step begins now.
void SupervisorRecords::take(const resilience::EpochRecord& epoch) {
  if (last_commit_s_ == 0) last_commit_s_ = epoch.time;
  replicas_->take(epoch);
}

void SupervisorRecords::take(const resilience::ReplicaObserved& observed) {
  events_.take(observed);
  replicas_->take(observed);
  const std::string line = are_crowded_ ? "" : observed_line(observed);
  if (!line.empty()) console_.say(line);
}

void SupervisorRecords::take(const resilience::ReplicaLost& lost) {
  write_joins([&](resilience::ReplicaId id) { return id == lost.id; }, 0);
  events_.take(lost);
}

void SupervisorRecords::take(const resilience::VoidRecord& gone) { go_back(gone.void_from); }

void SupervisorRecords::go_back(std::int64_t steps_done) {
  open_files(std::min(steps_done_, steps_done));
  divergence_ = {};
  validated_.erase(validated_.upper_bound(steps_done_), validated_.end());
  last_commit_s_ = 0;
}

// All replicas validate; the first that says so is recorded. The next step's time is without it.
void SupervisorRecords::take(const resilience::StepValidated& event) {
  const resilience::Validated& validated = event.validated;
  if (!validated_.insert(validated.done).second) return;
  metrics_->validation(validated.done, validated.loss);
  events_.write_of_step(validated.done, "evaluation", {}, JsonObject{}.add("seconds", validated.seconds));
  if (tensorboard_) tensorboard_->validation(validated.done, validated.loss);
  if (validated.done == steps_done_ && last_commit_s_ > 0) last_commit_s_ += validated.seconds;
  console_.say(validation_line(deck_, validated.done, validated.loss));
}

}  // namespace tenax::app
