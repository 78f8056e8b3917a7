#include "resilience/membership/next_epoch.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace tenax::resilience {
namespace {

using Candidates = std::vector<Candidate>;

std::vector<int> replicas_of(const Candidates& candidates) {
  std::vector<int> replicas;
  for (const Candidate& candidate : candidates) replicas.push_back(candidate.member.id.replica);
  return replicas;
}

/// The parts of the epoch's first step, shared over `holders`, the candidates that hold its state.
std::vector<Part> share_first_step(const SampleRules& rules, std::int64_t first_sample, Candidates holders) {
  const auto has_parts = [](const Candidate& it) { return !it.report.parts.empty(); };
  if (std::any_of(holders.begin(), holders.end(), has_parts)) std::erase_if(holders, std::not_fn(has_parts));
  // A service that ended while it told of an epoch leaves members that share the step by an older one.
  std::int64_t newest = 0;
  for (const Candidate& it : holders) newest = std::max(newest, it.report.epoch);
  std::vector<Part> kept;
  bool has_begun = false;
  for (const Candidate& it : holders) {
    if (it.report.epoch != newest) continue;
    has_begun |= it.report.has_begun;
    kept.insert(kept.end(), it.report.parts.begin(), it.report.parts.end());
  }
  if (!has_begun) kept.clear();
  return share_samples(rules, first_sample, replicas_of(holders), std::move(kept));
}

}  // namespace

std::int64_t newest_done(const Candidates& candidates) {
  std::int64_t newest = -1;
  for (const Candidate& candidate : candidates) newest = std::max(newest, candidate.report.done);
  return newest;
}

const Candidate& first_holder(const Candidates& candidates) {
  const std::int64_t newest = newest_done(candidates);
  return *std::find_if(candidates.begin(), candidates.end(),
                       [&](const Candidate& it) { return it.report.done == newest; });
}

int choose_writer(const Candidates& candidates, int writer) {
  const std::int64_t newest = newest_done(candidates);
  for (const Candidate& it : candidates)
    if (it.member.id.replica == writer && it.report.done == newest) return writer;
  return first_holder(candidates).member.id.replica;
}

Epoch begin_epoch(const SampleRules& rules, const Candidates& candidates) {
  Epoch epoch;
  epoch.from_step = newest_done(candidates);
  assert(epoch.from_step >= 0);
  epoch.first_sample = first_holder(candidates).report.next_sample;
  Candidates holders;
  for (const Candidate& candidate : candidates) {
    epoch.members.push_back(candidate.member);
    epoch.members.back().is_behind = candidate.report.done < epoch.from_step;
    if (!epoch.members.back().is_behind) holders.push_back(candidate);
  }
  epoch.parts = share_first_step(rules, epoch.first_sample, std::move(holders));
  return epoch;
}

std::optional<StepRepeated> repeated_step(const Epoch& epoch, const Candidates& candidates) {
  StepRepeated repeated{.step = epoch.from_step};
  bool has_begun = false;
  for (const Candidate& it : candidates) {
    if (!it.report.has_begun || it.report.done != epoch.from_step) continue;
    has_begun = true;
    for (const Part& part : it.report.parts)
      if (std::find(epoch.parts.begin(), epoch.parts.end(), part) != epoch.parts.end())
        repeated.kept_samples += part.count;
  }
  if (!has_begun) return {};
  repeated.missing_samples = count_samples(epoch.parts) - repeated.kept_samples;
  return repeated;
}

}  // namespace tenax::resilience
