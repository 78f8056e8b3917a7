#include "resilience/effective_time/effective_time.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

namespace tenax::resilience {
namespace {

bool has(const std::vector<ReplicaId>& ids, const ReplicaId& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

std::map<int, std::int64_t> shares(const std::vector<Part>& parts) {
  std::map<int, std::int64_t> share_of_replica;
  for (const Part& part : parts) share_of_replica[part.replica] += part.count;
  return share_of_replica;
}

std::int64_t largest(const std::map<int, std::int64_t>& share_of_replica) {
  std::int64_t found = 0;
  for (const auto& [replica, share] : share_of_replica) found = std::max(found, share);
  return found;
}

/// What the step would have taken, and did not count.
std::vector<TimeSpan> thrown_away(std::vector<TimeSpan> spans) {
  for (TimeSpan& span : spans)
    if (!span.lost || span.lost == LostCause::absent) span.lost = LostCause::repeat;
  return spans;
}

}  // namespace

EffectiveTime::EffectiveTime(const Options& options) : options_(options), last_s_(options.begin_s) {
  open_.begin_s = options.begin_s;
  open_.is_first = true;
}

void EffectiveTime::take(const Record& record) {
  std::visit(
      [&](const auto& what) {
        last_s_ = std::max(last_s_, what.time);
        add(what);
      },
      record);
}

void EffectiveTime::take(const ServiceEvent& event, double time_s) {
  last_s_ = std::max(last_s_, time_s);
  std::visit([&](const auto& what) { add(what, time_s); }, event);
}

void EffectiveTime::add(const CommitRecord& commit) {
  if (commit.step < open_.step) return;  // it is known
  const auto share_of_replica = shares(commit.parts);
  open_.has_commit = true;
  open_.end_s = std::max(open_.begin_s, commit.time);
  open_.step = commit.step;
  open_.samples = count_samples(commit.parts);
  open_.contributing = static_cast<int>(share_of_replica.size());
  open_.largest_share = largest(share_of_replica);
  open_.is_behind = std::any_of(members_.begin(), members_.end(), [&](const ReplicaId& member) {
    return !share_of_replica.contains(member.replica);
  });
  for (const auto& [replica, share] : share_of_replica)
    open_.has_newcomers |= !contributors_.contains(replica);
  contributors_.clear();
  for (const auto& [replica, share] : share_of_replica) contributors_.insert(replica);
  done_.push_back(open_);
  open_ = {.begin_s = open_.end_s,
           .step = commit.step + 1,
           .earlier_share = open_.is_kept ? open_.earlier_share : open_.largest_share};
}

void EffectiveTime::add(const EpochRecord& epoch) {
  earlier_members_ = std::exchange(members_, {});
  for (const EpochRecord::Member& member : epoch.members) members_.push_back(member.id);
  alive_ = members_;
  open_.is_kept = false;
  open_.step = epoch.from_step;
  insert({.time_s = epoch.time, .kind = IntervalMark::Kind::epoch, .reason = epoch.reason});
}

void EffectiveTime::add(const VoidRecord& gone) {
  for (StepInterval& interval : done_) interval.is_void |= interval.step >= gone.void_from;
  open_.step = gone.void_from;
}

// It may be told after the epoch that was decided without it.
void EffectiveTime::add(const ReplicaLost& lost, double time_s) {
  IntervalMark mark{.time_s = time_s, .detect_s = lost.detect_s};
  if (has(alive_, lost.id)) {
    std::erase(alive_, lost.id);
    mark.was_last = alive_.empty();
  } else if (!has(earlier_members_, lost.id) || has(members_, lost.id) || !open_.last_epoch()) {
    return;
  } else {
    mark.time_s = std::min(time_s, open_.last_epoch()->time_s);
  }
  insert(mark);
}

// A loss before the epoch that was decided at the same time.
void EffectiveTime::insert(const IntervalMark& mark) {
  IntervalMark clipped = mark;
  clipped.time_s = std::max(mark.time_s, open_.begin_s);
  const auto later = std::find_if(open_.marks.begin(), open_.marks.end(), [&](const IntervalMark& other) {
    const bool goes_first = mark.kind == IntervalMark::Kind::loss && other.kind == IntervalMark::Kind::epoch;
    return other.time_s > clipped.time_s || (other.time_s == clipped.time_s && goes_first);
  });
  open_.marks.insert(later, clipped);
}

/// The last one with that step; null where it has none.
StepInterval* EffectiveTime::interval_of(std::int64_t step) {
  if (open_.step == step) return &open_;
  const auto found = std::find_if(done_.rbegin(), done_.rend(),
                                  [&](const StepInterval& interval) { return interval.step == step; });
  return found == done_.rend() ? nullptr : &*found;
}

void EffectiveTime::add(const StepRepeated& repeated, double /*time_s*/) {
  if (StepInterval* interval = interval_of(repeated.step)) interval->is_kept = repeated.kept_samples > 0;
}

// It was held in the steps in a row in which it was behind, the last of which has just ended.
void EffectiveTime::add(const ReplicaJoined& joined, double /*time_s*/) {
  const auto is_behind = [](const StepInterval& interval) { return interval.is_behind; };
  const auto last = std::find_if(done_.rbegin(), done_.rend(), is_behind);
  const auto before = std::find_if_not(last, done_.rend(), is_behind);
  const auto steps = static_cast<double>(before - last);
  for (auto interval = last; interval != before; ++interval) interval->held_s += joined.joined.held_s / steps;
}

// All replicas validate at the same time.
void EffectiveTime::add(const StepValidated& event, double /*time_s*/) {
  if (StepInterval* interval = interval_of(event.validated.done))
    interval->evaluation_s = std::max(interval->evaluation_s, event.validated.seconds);
}

void EffectiveTime::add(const CheckpointSaved& saved, double time_s) {
  if (saved.saved.bytes > 0) open_.saved_at_s = time_s;
  open_.saves |= open_.begin_s < time_s;
  const double begin_s = time_s - saved.saved.seconds;
  for (auto interval = done_.rbegin(); interval != done_.rend() && interval->end_s > begin_s; ++interval)
    interval->saves = true;
}

void EffectiveTime::add(const MembersAwaited& awaited, double time_s) {
  windows_.push_back({.begin_s = time_s - awaited.seconds, .end_s = time_s, .lost = LostCause::none_alive});
}

void EffectiveTime::add(const ServiceAwaited& awaited, double time_s) {
  windows_.push_back({.begin_s = time_s - awaited.seconds, .end_s = time_s, .lost = LostCause::service});
}

UsualStep EffectiveTime::usual_step() const {
  UsualStep usual;
  for (const StepInterval& interval : done_)
    if (interval.is_plain()) usual.add(interval.largest_share, interval.end_s - interval.begin_s);
  if (options_.usual_s > 0 && !usual.seconds(1)) usual.add(full_share(), options_.usual_s);
  return usual;
}

/// Samples of one replica in most steps to which all contribute.
std::int64_t EffectiveTime::full_share() const {
  std::map<std::int64_t, std::int64_t> steps_of_share;
  for (const StepInterval& interval : done_)
    if (interval.contributing == options_.replicas) ++steps_of_share[interval.largest_share];
  if (steps_of_share.empty()) return std::max<std::int64_t>(1, options_.global_batch / options_.replicas);
  return std::max_element(steps_of_share.begin(), steps_of_share.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// Where no step was undisturbed, all that follows the last epoch is what a step takes.
UndisturbedStep EffectiveTime::work_of(const StepInterval& interval, const UsualStep& usual,
                                       std::int64_t full_share) const {
  if (!interval.has_commit) return {};
  const IntervalMark* const epoch = interval.last_epoch();
  const double whole_s = interval.end_s - (epoch ? epoch->time_s : interval.begin_s);
  const std::int64_t share = interval.is_kept ? interval.earlier_share : interval.largest_share;
  const double usual_s = usual.seconds(share).value_or(whole_s);
  const double part = static_cast<double>(interval.samples) / static_cast<double>(options_.global_batch);
  return {.usual_s = usual_s,
          .useful_s = std::min(usual_s, part * usual.seconds(full_share).value_or(whole_s))};
}

std::vector<TimeSpan> EffectiveTime::cut_interval(const StepInterval& interval,
                                                  const UndisturbedStep& work) const {
  std::vector<TimeSpan> spans = cut(interval, work);
  for (const TimeSpan& window : windows_)
    if (window.begin_s < interval.end_s && window.end_s > interval.begin_s) spans = overlay(spans, window);
  return interval.is_void ? thrown_away(std::move(spans)) : spans;
}

TimeByCause EffectiveTime::of_step(std::int64_t step) const {
  const auto found = std::find_if(done_.rbegin(), done_.rend(),
                                  [&](const StepInterval& interval) { return interval.step == step; });
  if (found == done_.rend()) return {};
  return TimeByCause(cut_interval(*found, work_of(*found, usual_step(), full_share())));
}

std::vector<TimeSpan> EffectiveTime::spans(double end_s) const {
  const UsualStep usual = usual_step();
  const std::int64_t full = full_share();
  StepInterval last = open_;
  last.end_s = end_s;
  std::vector<TimeSpan> spans;
  for (const StepInterval& interval : done_)
    for (const TimeSpan& span : cut_interval(interval, work_of(interval, usual, full))) spans.push_back(span);
  for (const TimeSpan& span : cut_interval(last, {})) spans.push_back(span);
  return spans;
}

}  // namespace tenax::resilience
