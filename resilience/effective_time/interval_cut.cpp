#include "resilience/effective_time/interval_cut.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tenax::resilience {
namespace {

using Cause = LostCause;

/// A step that takes no more than so much of the usual time is as usual: as detect.min_change has it.
constexpr double kSlow = 1.1;

class Cutter {
 public:
  explicit Cutter(double begin_s) : at_s_(begin_s) {}

  double at_s() const { return at_s_; }
  void until(double end_s, std::optional<Cause> lost) {
    if (end_s <= at_s_) return;
    spans_.push_back({.begin_s = at_s_, .end_s = end_s, .lost = lost});
    at_s_ = end_s;
  }
  std::vector<TimeSpan> take() { return std::move(spans_); }

 private:
  double at_s_;
  std::vector<TimeSpan> spans_;
};

double useful_part(const UndisturbedStep& work) {
  return work.usual_s > 0 ? work.useful_s / work.usual_s : 1;
}

/// Writes what `window` says over the spans.
std::vector<TimeSpan> replace(const std::vector<TimeSpan>& spans, const TimeSpan& window) {
  std::vector<TimeSpan> result;
  for (const TimeSpan& span : spans) {
    Cutter cutter(span.begin_s);
    cutter.until(std::min(span.end_s, window.begin_s), span.lost);
    cutter.until(std::min(span.end_s, window.end_s), window.lost);
    cutter.until(span.end_s, span.lost);
    for (const TimeSpan& part : cutter.take()) result.push_back(part);
  }
  return result;
}

Cause cause_of_excess(const StepInterval& interval) {
  if (interval.is_behind) return Cause::state;
  if (interval.has_newcomers) return Cause::first_step;
  return interval.saves ? Cause::checkpoint : Cause::slow;
}

/// The last part of a step in which a member fetched the state.
void finish(const StepInterval& interval, Cause cause, Cutter& cutter) {
  cutter.until(interval.end_s - interval.held_s, cause);
  cutter.until(interval.end_s, interval.held_s > 0 ? Cause::join_wait : cause);
}

void cut_step(const StepInterval& interval, const UndisturbedStep& work, Cutter& cutter) {
  const Cause cause = cause_of_excess(interval);
  const double body_s = interval.end_s - cutter.at_s();
  const bool is_usual = cause == Cause::slow && body_s <= kSlow * work.usual_s;
  const double work_s = is_usual ? body_s : std::min(body_s, work.usual_s), begin_s = cutter.at_s();
  cutter.until(begin_s + work_s * useful_part(work), std::nullopt);
  cutter.until(begin_s + work_s, Cause::absent);
  finish(interval, cause, cutter);
}

/// What is lost before the first mark, where nobody works.
Cause cause_at_first(const StepInterval& interval) {
  if (interval.is_kept) return Cause::detect;
  if (interval.first_epoch()->reason != EpochReason::start) return Cause::reconfigure;
  return interval.is_first ? Cause::none_alive : Cause::repeat;
}

/// As if nobody worked.
void cut_stalls(const StepInterval& interval, Cutter& cutter) {
  Cause cause = cause_at_first(interval);
  for (const IntervalMark& mark : interval.marks) {
    if (mark.kind == IntervalMark::Kind::loss) {
      cutter.until(mark.time_s - mark.detect_s, cause);
      cutter.until(mark.time_s, Cause::detect);
      cause = mark.was_last ? Cause::none_alive : Cause::reconfigure;
    } else {
      cutter.until(mark.time_s, cause);
      cause = interval.is_kept ? Cause::repeat : interval.is_behind ? Cause::state : Cause::first_step;
    }
  }
  finish(interval, cause, cutter);
}

std::vector<TimeSpan> cut_change(const StepInterval& interval, const UndisturbedStep& work, double begin_s) {
  Cutter cutter(begin_s);
  cut_stalls(interval, cutter);
  const double work_s = interval.is_kept ? begin_s : std::max(begin_s, interval.last_epoch()->time_s);
  const double useful_s = work_s + work.useful_s;
  const auto spans = replace(cutter.take(), {.begin_s = work_s, .end_s = useful_s});
  return replace(spans, {.begin_s = useful_s, .end_s = work_s + work.usual_s, .lost = Cause::absent});
}

/// After the last step. What a failed run had begun is in `none_alive`.
void cut_end(const StepInterval& interval, Cutter& cutter) {
  cutter.until(std::min(interval.saved_at_s, interval.end_s), Cause::checkpoint);
  cutter.until(interval.end_s, Cause::none_alive);
}

}  // namespace

std::vector<TimeSpan> cut(const StepInterval& interval, const UndisturbedStep& work) {
  Cutter cutter(interval.begin_s);
  cutter.until(std::min(interval.begin_s + interval.evaluation_s, interval.end_s), Cause::evaluation);
  if (interval.last_epoch() && (interval.has_commit || interval.saved_at_s == 0)) {
    const double begin_s = cutter.at_s();
    std::vector<TimeSpan> spans = cutter.take();
    for (const TimeSpan& span : cut_change(interval, work, begin_s)) spans.push_back(span);
    return spans;
  }
  if (interval.has_commit)
    cut_step(interval, work, cutter);
  else
    cut_end(interval, cutter);
  return cutter.take();
}

std::vector<TimeSpan> overlay(const std::vector<TimeSpan>& spans, const TimeSpan& window) {
  std::vector<TimeSpan> result;
  for (const TimeSpan& span : spans) {
    const bool stays = !span.lost || span.lost == Cause::evaluation || span.lost == Cause::checkpoint ||
                       span.lost == Cause::absent;
    if (stays)
      result.push_back(span);
    else
      for (const TimeSpan& part : replace({span}, window)) result.push_back(part);
  }
  return result;
}

}  // namespace tenax::resilience
