#include "app/supervisor/supervisor_records.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "app/units.hpp"

namespace tenax::app {

using io::JsonObject;

SupervisorRecords::SupervisorRecords(const io::Deck& deck, Console& console, std::int64_t steps_done)
    : deck_(deck),
      console_(console),
      metrics_(std::make_unique<io::MetricsWriter>(deck.run.output_dir, steps_done)),
      events_(deck.run.output_dir),
      steps_done_(steps_done) {}

void SupervisorRecords::hand_in(News news) {
  const std::lock_guard lock(mutex_);
  news_.push_back(std::move(news));
}

std::vector<SupervisorRecords::News> SupervisorRecords::write() {
  std::vector<News> news;
  {
    const std::lock_guard lock(mutex_);
    news.swap(news_);
  }
  for (const News& item : news)
    std::visit([&](const auto& kind) { std::visit([&](const auto& what) { take(what); }, kind); }, item);
  return news;
}

void SupervisorRecords::event(const std::string& name, std::optional<int> replica,
                              const JsonObject& details) {
  io::RunEvent event{
      .step = steps_done_, .name = name, .replica = {}, .rank = {}, .host = {}, .details = details};
  if (replica) event.replica = *replica;
  events_.write(event);
}

void SupervisorRecords::take(const resilience::CommitRecord& commit) {
  const std::int64_t samples = resilience::count_samples(commit.parts);
  const std::int64_t tokens = samples * deck_.model.seq_length;
  const double seconds = last_commit_s_ > 0 ? std::max(commit.time - last_commit_s_, 1e-9) : 0;
  last_commit_s_ = commit.time;
  std::set<int> contributing;
  for (const resilience::Part& part : commit.parts) contributing.insert(part.replica);
  io::TrainingMetrics metrics{.step = commit.step,
                              .loss = commit.loss,
                              .grad_norm = commit.grad_norm,
                              .lr = commit.lr,
                              .tokens = tokens,
                              .seconds = seconds,
                              .tokens_per_second = seconds > 0 ? static_cast<double>(tokens) / seconds : 0};
  metrics.replicas = static_cast<std::int64_t>(contributing.size());
  metrics_->training(metrics);
  steps_done_ = commit.step + 1;
  const bool is_last = steps_done_ == deck_.run.train_steps;
  if (steps_done_ % deck_.run.log_interval != 0 && !is_last) return;
  console_.say(
      format("step %6lld/%lld   loss %8.5f   grad norm %8.4f   lr %.3e   %8.0f tokens/s   %d replica%s",
             static_cast<long long>(steps_done_), static_cast<long long>(deck_.run.train_steps), commit.loss,
             commit.grad_norm, commit.lr, metrics.tokens_per_second, static_cast<int>(contributing.size()),
             contributing.size() == 1 ? "" : "s"));
}

// What an epoch is about, EpochBegan says.
void SupervisorRecords::take(const resilience::EpochRecord&) {}

void SupervisorRecords::take(const resilience::VoidRecord& gone) {
  metrics_.reset();
  metrics_ = std::make_unique<io::MetricsWriter>(deck_.run.output_dir, gone.void_from);
  steps_done_ = std::min(steps_done_, gone.void_from);
  last_commit_s_ = 0;
}

void SupervisorRecords::take(const resilience::ReplicaLost& lost) {
  const bool is_earlier = std::any_of(earlier_.begin(), earlier_.end(), [&](const resilience::ReplicaId& id) {
    return id.replica == lost.id.replica && lost.id.incarnation <= id.incarnation;
  });
  if (is_earlier) return;
  event("replica_lost", lost.id.replica,
        JsonObject{}
            .add("incarnation", lost.id.incarnation)
            .add("reason", resilience::name_of(lost.reason))
            .add("detect_seconds", lost.detect_s)
            .add("host", lost.host));
  console_.say(format("lost replica %d (%s) after step %lld", lost.id.replica,
                      resilience::name_of(lost.reason), static_cast<long long>(steps_done_)));
}

void SupervisorRecords::take(const resilience::EpochBegan& began) {
  std::vector<std::int64_t> members;
  std::string text;
  for (const resilience::EpochMember& member : began.epoch.members) {
    members.push_back(member.id.replica);
    text += " " + std::to_string(member.id.replica) + (member.is_behind ? " (fetches state)" : "");
  }
  event("epoch", {},
        JsonObject{}
            .add("epoch", began.epoch.number)
            .add("members", members)
            .add("reconfigure_seconds", began.reconfigure_s));
  console_.say(format("epoch %lld from step %lld: replicas%s", static_cast<long long>(began.epoch.number),
                      static_cast<long long>(began.epoch.from_step), text.c_str()));
}

void SupervisorRecords::take(const resilience::StepsVoided& voided) {
  event("void", {},
        JsonObject{}.add("void_from", voided.void_from).add("reason", "no replica has their state"));
}

// RunCheckpoints says what has become of it.
void SupervisorRecords::take(const resilience::CheckpointSaved&) {}

void SupervisorRecords::take(const resilience::MembersAwaited& awaited) {
  event("wait", {}, JsonObject{}.add("reason", "min_replicas").add("seconds", awaited.seconds));
}

}  // namespace tenax::app
