#include "parallel/planner/critical_path.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::parallel {

CriticalPath::CriticalPath(const PlanningProblem& problem)
    : problem_(problem), microbatch_(static_cast<std::size_t>(problem.ops())) {
  for (auto& position : position_) position.resize(microbatch_.size());
}

void CriticalPath::index(const PassOrder& order) {
  for (int s = 0; s < problem_.stages(); ++s) index(order, s);
}

void CriticalPath::index(const PassOrder& order, int stage) {
  int count[3] = {0, 0, 0};
  const std::uint8_t* word = order.word(stage);
  for (int i = 0; i < problem_.ops_per_stage(); ++i) {
    const int microbatch = count[word[i]]++;
    microbatch_[at(stage, i)] = microbatch;
    if (word[i] != kWeight) position_[word[i]][at(stage, microbatch)] = i;
  }
}

std::pair<int, int> CriticalPath::source_of(int s, std::uint8_t letter, int microbatch) const {
  if (letter == kForward) return {s - 1, position_[kForward][at(s - 1, microbatch)]};
  if (s + 1 == problem_.stages()) return {s, position_[kForward][at(s, microbatch)]};
  return {s + 1, position_[kBackward][at(s + 1, microbatch)]};
}

void CriticalPath::trace(const PassOrder& order, const OrderEvaluator& evaluator, SearchRandom& random) {
  const int last = problem_.ops_per_stage() - 1;
  const auto end_of = [&](int s, int i) {
    return evaluator.starts(s)[i] + problem_.times[static_cast<std::size_t>(s)].of(order.word(s)[i]);
  };
  int s = 0, ties = 0;
  for (int stage = 0; stage < problem_.stages(); ++stage) {
    if (end_of(stage, last) > end_of(s, last)) ties = 0;
    if (end_of(stage, last) >= end_of(s, last) && random.below(++ties) == 0) s = stage;
  }
  blocks_.clear();
  passes_before_.clear();
  int passes = 0;
  const auto close = [&](int stage, int first, int end) {
    if (end - first < 1) return;
    blocks_.push_back({stage, first, end});
    passes_before_.push_back(passes);
    passes += end - first + 1;
  };
  for (int i = last, end = last;;) {
    const std::uint8_t letter = order.word(s)[i];
    const Nanoseconds start = evaluator.starts(s)[i];
    const int microbatch = microbatch_[at(s, i)];
    Nanoseconds arrival = -1;
    if (letter == kForward && s > 0) arrival = evaluator.forward_arrivals(s)[microbatch];
    if (letter == kBackward) arrival = evaluator.backward_arrivals(s)[microbatch];
    const bool follows = i > 0 && end_of(s, i - 1) == start;
    if (follows && (arrival != start || random.below(2) == 0)) {
      --i;
      continue;
    }
    close(s, i, end);
    if (arrival != start) break;  // the path begins here, at time 0
    const auto [source, position] = source_of(s, letter, microbatch);
    s = source;
    i = end = position;
  }
  passes_before_.push_back(passes);
}

Move CriticalPath::propose(const PassOrder& order, SearchRandom& random) const {
  if (blocks_.empty()) return {};
  const int chosen = random.below(passes_before_.back());
  const auto after = std::upper_bound(passes_before_.begin(), passes_before_.end(), chosen);
  const auto b = static_cast<std::size_t>(after - passes_before_.begin()) - 1;
  const Block& block = blocks_[b];
  const int i = block.first + (chosen - passes_before_[b]);
  switch (random.below(8)) {
    case 0:
    case 1:
      return {block.stage, i, block.last};
    case 2:
    case 3:
      return {block.stage, i, block.first};
    case 4:  // into a gap somewhere else
      return {block.stage, i, random.below(problem_.ops_per_stage())};
    default:
      break;
  }
  // Across the next run of another letter: to swap within a run of equal letters changes nothing.
  const std::uint8_t* word = order.word(block.stage);
  int to = i;
  while (to < block.last && word[to] == word[i]) ++to;
  return {block.stage, i, to};
}

}  // namespace tenax::parallel
