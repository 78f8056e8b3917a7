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
  /// `count` of those that `links` shows and `may_add` admits, as long as there are any, first such that
  /// have no end in common with others.
  void add_some(const UsedLinks& links, const std::function<bool(const LinkEnds&)>& may_add,
                std::size_t count) {
    std::vector<LinkEnds> touching;
    links(kind_, [&](const LinkEnds& link) {
      if (!may_add(link)) return true;
      if (!touches(link)) {
        add(link);
        --count;
      } else if (touching.size() < count) {
        touching.push_back(link);
      }
      return count > 0;
    });
    touching.resize(std::min(touching.size(), count));
    for (const LinkEnds& link : touching) add(link);
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
                                      const UsedLinks& used_links) {
  std::vector<PairTest> tests;
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::data, GroupKind::pipeline}) {
    PairPlan plan(kind, tests.empty() ? 0 : tests.back().round + 1);
    for (const Component& link : links)
      if (link.group == kind) plan.add({link.rank, link.other});
    if (plan.tests().empty()) continue;
    const auto may_add = [&](const LinkEnds& other) {
      const PairTest test{.group = kind, .rank = other.first, .other = other.second};
      const auto is_it = [&](const Component& link) { return test.is_of(link); };
      return std::none_of(slow.begin(), slow.end(), is_it) && std::none_of(links.begin(), links.end(), is_it);
    };
    plan.add_some(used_links, may_add, plan.tests().size() + 1);
    tests.insert(tests.end(), plan.tests().begin(), plan.tests().end());
    std::stable_sort(tests.begin(), tests.end(),
                     [](const PairTest& a, const PairTest& b) { return a.round < b.round; });
  }
  return tests;
}

}  // namespace tenax::resilience
