#include "resilience/detection/call_iterations.hpp"

#include <algorithm>
#include <map>

#include "resilience/detection/call_period.hpp"

namespace tenax::resilience {
namespace {

/// Walks a log from stretch to stretch.
class IterationWalk {
 public:
  IterationWalk(const io::CallLog& log, const CallStretches& period)
      : seconds_(log.seconds), length_(period.period), first_place_(first_place(period.stretches)) {}

  void add(const CallStretch& stretch, bool is_last) {
    const std::size_t skipped = (first_place_ + length_ - stretch.place) % length_,
                      begin = stretch.begin + skipped;
    // Other calls have cut an iteration in two.
    if (cut_calls_ && cut_calls_ + skipped >= length_) push(seconds_[begin] - seconds_[cut_], true);
    std::size_t call = begin;
    for (; call + 2 * length_ <= stretch.end; call += length_)
      push(seconds_[call + length_] - seconds_[call], false);
    const bool is_whole = call + length_ <= stretch.end;
    if (is_whole && !is_last) push(expected_seconds(call, begin), true);
    if (is_whole && is_last && call + length_ < stretch.end)
      push(seconds_[call + length_] - seconds_[call], false);
    cut_ = is_whole ? call + length_ : call;
    cut_calls_ = stretch.end - cut_;
  }
  std::vector<CallIteration> take() { return std::move(iterations_); }

 private:
  /// That at which most stretches begin; the first one's, which is 0, where others are as many.
  static std::size_t first_place(const std::vector<CallStretch>& stretches) {
    std::map<std::size_t, std::size_t> beginnings_at;
    for (const CallStretch& stretch : stretches) ++beginnings_at[stretch.place];
    const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::max_element(beginnings_at.begin(), beginnings_at.end(), fewer)->first;
  }

  /// A clock too coarse for the calls tells nothing.
  void push(double seconds, bool is_masked) {
    iterations_.push_back({.seconds = seconds, .is_masked = is_masked || seconds <= 0});
  }

  /// Of the iteration that begins at `call`: up to its last call, and from there what most of the up to 8 iterations
  /// before it took, the first of which began at `begin`.
  double expected_seconds(std::size_t call, std::size_t begin) const {
    std::vector<double> rests;
    for (std::size_t next = call; next > begin && rests.size() < 8; next -= length_)
      rests.push_back(seconds_[next] - seconds_[next - 1]);
    const auto middle = rests.begin() + static_cast<std::ptrdiff_t>(rests.size() / 2);
    std::nth_element(rests.begin(), middle, rests.end());
    return seconds_[call + length_ - 1] - seconds_[call] + (rests.empty() ? 0 : *middle);
  }

  const std::vector<double>& seconds_;
  std::size_t length_, first_place_;
  std::size_t cut_ = 0,
              cut_calls_ = 0;  // where the last stretch's cut iteration begins; how much of it is there
  std::vector<CallIteration> iterations_;
};

}  // namespace

std::vector<CallIteration> call_iterations(const io::CallLog& log, const CallStretches& period) {
  IterationWalk walk(log, period);
  for (const CallStretch& stretch : period.stretches) walk.add(stretch, &stretch == &period.stretches.back());
  return walk.take();
}

std::vector<CallIteration> call_iterations(const io::CallLog& log, const AnchoredCalls& calls) {
  std::vector<CallIteration> iterations;
  for (std::size_t i = 0; i < calls.is_usual.size(); ++i) {
    const double seconds = log.seconds[calls.begins[i + 1]] - log.seconds[calls.begins[i]];
    iterations.push_back({.seconds = seconds, .is_masked = !calls.is_usual[i] || seconds <= 0});
  }
  return iterations;
}

std::optional<std::vector<CallIteration>> find_call_iterations(const io::CallLog& log) {
  if (const auto period = find_call_period(log)) return call_iterations(log, *period);
  if (const auto calls = find_call_anchor(call_sequence(log))) return call_iterations(log, *calls);
  if (const auto calls = find_call_anchor(call_sequence(log, erratic_groups(log))))
    return call_iterations(log, *calls);
  return std::nullopt;
}

}  // namespace tenax::resilience
