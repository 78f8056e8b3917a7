#include "resilience/diagnosis/pair_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

/// Those of one kind.
class PairPlan {
 public:
  PairPlan(GroupKind kind, int first_round) : kind_(kind), first_round_(first_round) {}

  /// Into the first round in which both ends are free.
  void add(const LinkEnds& link) {
    const auto is_taken = [&](int round) {
      return std::any_of(tests_.begin(), tests_.end(), [&](const PairTest& test) {
        return test.round == round && (test.has(link.first) || test.has(link.second));
      });
    };
    int round = first_round_;
    while (is_taken(round)) ++round;
    tests_.push_back({.group = kind_, .rank = link.first, .other = link.second, .round = round});
  }
  /// Some of these, as long as there are any such that have no end in common with others.
  void add_some(std::vector<LinkEnds> links, std::size_t count) {
    for (; count > 0 && !links.empty(); --count) {
      const auto apart =
          std::find_if(links.begin(), links.end(), [this](const LinkEnds& link) { return !touches(link); });
      const auto chosen = apart == links.end() ? links.begin() : apart;
      add(*chosen);
      links.erase(chosen);
    }
  }
  const std::vector<PairTest>& tests() const { return tests_; }

 private:
  bool touches(const LinkEnds& link) const {
    return std::any_of(tests_.begin(), tests_.end(),
                       [&](const PairTest& test) { return test.has(link.first) || test.has(link.second); });
  }

  GroupKind kind_;
  int first_round_;
  std::vector<PairTest> tests_;
};

}  // namespace

std::vector<PairTest> plan_pair_tests(const std::vector<Component>& links, const std::vector<Component>& slow,
                                      const std::function<std::vector<LinkEnds>(GroupKind)>& used_links) {
  std::vector<PairTest> tests;
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::data, GroupKind::pipeline}) {
    PairPlan plan(kind, tests.empty() ? 0 : tests.back().round + 1);
    for (const Component& link : links)
      if (link.group == kind) plan.add({link.rank, link.other});
    if (plan.tests().empty()) continue;
    std::vector<LinkEnds> others = used_links(kind);
    std::erase_if(others, [&](const LinkEnds& other) {
      const PairTest test{.group = kind, .rank = other.first, .other = other.second};
      const auto is_it = [&](const Component& link) { return test.is_of(link); };
      return std::any_of(slow.begin(), slow.end(), is_it) || std::any_of(links.begin(), links.end(), is_it);
    });
    plan.add_some(std::move(others), plan.tests().size() + 1);
    tests.insert(tests.end(), plan.tests().begin(), plan.tests().end());
    std::stable_sort(tests.begin(), tests.end(),
                     [](const PairTest& a, const PairTest& b) { return a.round < b.round; });
  }
  return tests;
}

}  // namespace tenax::resilience
