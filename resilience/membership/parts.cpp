#include "resilience/membership/parts.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

bool begins_before(const Part& a, const Part& b) { return a.first < b.first; }

std::int64_t end_of(const Part& part) { return part.first + part.count; }

/// The first sample behind the step. `kept` is sorted.
std::int64_t end_of_step(const SampleRules& rules, std::int64_t first, std::size_t contributors,
                         const std::vector<Part>& kept) {
  if (rules.batch == BatchRule::keep) return first + rules.global_batch;
  if (!kept.empty()) return end_of(kept.back());
  return first + rules.global_batch / rules.replicas * static_cast<std::int64_t>(contributors);
}

/// What lies between the kept parts; nobody's yet. `kept` is sorted.
std::vector<Part> gaps(std::int64_t first, std::int64_t end, const std::vector<Part>& kept) {
  std::vector<Part> found;
  for (const Part& part : kept) {
    assert(part.first >= first && "parts overlap");
    if (part.first > first) found.push_back({.first = first, .count = part.first - first});
    first = end_of(part);
  }
  if (end > first) found.push_back({.first = first, .count = end - first});
  return found;
}

std::vector<std::int64_t> units_kept(std::int64_t unit, const std::vector<int>& contributors,
                                     const std::vector<Part>& kept) {
  std::vector<std::int64_t> units(contributors.size(), 0);
  for (std::size_t i = 0; i < contributors.size(); ++i)
    for (const Part& part : kept)
      if (part.replica == contributors[i]) units[i] += part.count / unit;
  return units;
}

/// What raises each of `loads` to `level`.
std::int64_t units_below(std::int64_t level, const std::vector<std::int64_t>& loads) {
  std::int64_t units = 0;
  for (const std::int64_t load : loads) units += std::max<std::int64_t>(level - load, 0);
  return units;
}

/// How many of `units` each gets beside its load, as if each went to the first of those that have least so far.
std::vector<std::int64_t> level(std::int64_t units, const std::vector<std::int64_t>& loads) {
  std::int64_t reached = 0, beyond = units + *std::max_element(loads.begin(), loads.end()) + 1;
  while (beyond - reached > 1) {
    const std::int64_t middle = reached + (beyond - reached) / 2;
    (units_below(middle, loads) <= units ? reached : beyond) = middle;
  }
  std::int64_t left = units - units_below(reached, loads);
  std::vector<std::int64_t> share;
  for (const std::int64_t load : loads) {
    const bool one_more = left > 0 && load <= reached;
    left -= one_more;
    share.push_back(std::max<std::int64_t>(reached - load, 0) + one_more);
  }
  return share;
}

/// Else the shares would end before the gap does.
void check_units(const Part& gap, std::int64_t unit) {
  if (gap.count % unit != 0)
    throw kernels::Error(kernels::Scope::job,
                         "the " + std::to_string(gap.count) + " samples from " + std::to_string(gap.first) +
                             " on cannot be shared out in units of " + std::to_string(unit));
}

}  // namespace

std::vector<Part> share_samples(const SampleRules& rules, std::int64_t first,
                                const std::vector<int>& contributors, std::vector<Part> kept) {
  assert(!contributors.empty());
  std::sort(kept.begin(), kept.end(), begins_before);
  const std::vector<Part> missing = gaps(first, end_of_step(rules, first, contributors.size(), kept), kept);
  for (const Part& gap : missing) check_units(gap, rules.unit);
  std::vector<std::int64_t> share =
      level(count_samples(missing) / rules.unit, units_kept(rules.unit, contributors, kept));
  std::size_t i = 0;
  for (Part gap : missing)
    while (gap.count > 0) {
      while (share[i] == 0) ++i;
      const std::int64_t count = std::min(share[i] * rules.unit, gap.count);
      kept.push_back({contributors[i], gap.first, count});
      share[i] -= count / rules.unit;
      gap.first += count;
      gap.count -= count;
    }
  std::sort(kept.begin(), kept.end(), begins_before);
  return kept;
}

std::set<std::int64_t> counts_after_a_change(const SampleRules& rules, const std::vector<Part>& parts,
                                             int replica) {
  constexpr int kNewcomer = -1;  // of a number that no replica has
  std::vector<int> all;
  for (const Part& part : parts)
    if (std::find(all.begin(), all.end(), part.replica) == all.end()) all.push_back(part.replica);
  std::set<std::int64_t> counts;
  const auto count = [&](const std::vector<Part>& shared) {
    for (const Part& part : shared)
      if (part.replica == replica && part.count > 0) counts.insert(part.count);
  };
  const std::int64_t first = parts.empty() ? 0 : parts.front().first;
  for (const int lost : all) {
    if (lost == replica || all.size() == 1) continue;
    std::vector<int> others = all;
    std::erase(others, lost);
    std::vector<Part> kept = parts;
    std::erase_if(kept, [&](const Part& part) { return part.replica == lost; });
    count(share_samples(rules, first, others, kept));
    count(share_samples(rules, first, others));
  }
  if (static_cast<int>(all.size()) >= rules.replicas) return counts;
  for (const bool is_first : {false, true}) {
    std::vector<int> more = all;
    more.insert(is_first ? more.begin() : more.end(), kNewcomer);
    count(share_samples(rules, first, more));
  }
  return counts;
}

std::int64_t count_samples(const std::vector<Part>& parts) {
  std::int64_t samples = 0;
  for (const Part& part : parts) samples += part.count;
  return samples;
}

bool tile(const std::vector<Part>& parts, std::int64_t first) {
  for (const Part& part : parts) {
    if (part.first != first || part.count <= 0) return false;
    first += part.count;
  }
  return !parts.empty();
}

}  // namespace tenax::resilience
