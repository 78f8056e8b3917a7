#include "resilience/detection/call_period.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "resilience/detection/call_distances.hpp"
#include "resilience/detection/call_sequence.hpp"

namespace tenax::resilience {
namespace {

// An evaluation every 20 iterations may spoil one of them.
constexpr std::size_t kFewestPeriodsBetween = 19;

using Symbols = std::set<std::uint32_t>;

/// A lag, and what of the sequence repeats at it.
class Candidate {
 public:
  Candidate(const CallSequence& sequence, std::size_t lag)
      : sequence_(sequence), found_(find_call_stretches(sequence.of_call, lag)) {
    if (!found_.stretches.empty()) own_ = symbols_among(sequence, begin(), begin() + lag);
  }
  bool is_period() const {
    if (found_.stretches.empty() || !has_most_calls() || !has_exact_call()) return false;
    return found_.stretches.size() == 1 || (is_seldom_left() && is_iteration(sequence_, own_, other()));
  }
  CallStretches take() { return std::move(found_); }

 private:
  std::size_t begin() const { return found_.stretches.front().begin; }
  std::size_t end() const { return found_.stretches.back().end; }

  bool has_most_calls() const {
    const auto calls = static_cast<double>(found_.calls());
    return calls >= kLeastShare * static_cast<double>(sequence_.of_call.size()) &&
           calls >= kLeastShareWithin * static_cast<double>(end() - begin());
  }

  /// Else any calls of a name would do.
  bool has_exact_call() const {
    return std::any_of(own_.begin(), own_.end(),
                       [&](auto symbol) { return sequence_.symbols[symbol].is_exact; });
  }

  /// The first and the last stretch may be cut by the log's ends.
  bool is_seldom_left() const {
    const auto& all = found_.stretches;
    if (all.size() == 2)
      return std::max(all[0].calls(), all[1].calls()) / found_.period >= kFewestPeriodsBetween;
    std::size_t inner =
        found_.periods() - all.front().calls() / found_.period - all.back().calls() / found_.period;
    return inner >= kFewestPeriodsBetween * (all.size() - 2);
  }

  Symbols other() const {
    Symbols symbols;
    for (std::size_t next = 1; next < found_.stretches.size(); ++next)
      symbols.merge(symbols_among(sequence_, found_.stretches[next - 1].end, found_.stretches[next].begin));
    return symbols;
  }

  const CallSequence& sequence_;
  CallStretches found_;
  Symbols own_;  // of one period
};

std::optional<CallStretches> period_of(const CallSequence& sequence) {
  for (CallDistances distances(sequence.of_call); distances.has_next();)
    for (const std::size_t lag : distances.next())
      if (Candidate candidate(sequence, lag); candidate.is_period()) return candidate.take();
  return std::nullopt;
}

/// The calls of `group` alone.
io::CallLog calls_of(const io::CallLog& log, const CallGroup& group) {
  io::CallLog own{.seconds = {}, .kind_of_call = {}, .kinds = log.kinds};
  for (const std::uint32_t kind : log.kind_of_call)
    if (log.kinds[kind].name == group.first && log.kinds[kind].ranks == group.second)
      own.kind_of_call.push_back(kind);
  return own;
}

}  // namespace

std::set<CallGroup> erratic_groups(const io::CallLog& log) {
  std::map<CallGroup, std::size_t> kinds_of;
  for (const io::CallKind& kind : log.kinds) ++kinds_of[{kind.name, kind.ranks}];
  std::set<CallGroup> erratic;
  for (const auto& [group, kinds] : kinds_of)
    if (kinds > 1 && !period_of(call_sequence(calls_of(log, group)))) erratic.insert(group);
  return erratic;
}

std::optional<CallStretches> find_call_period(const io::CallLog& log) {
  if (const auto found = period_of(call_sequence(log))) return found;
  const std::set<CallGroup> erratic = erratic_groups(log);
  return erratic.empty() ? std::nullopt : period_of(call_sequence(log, erratic));
}

}  // namespace tenax::resilience
