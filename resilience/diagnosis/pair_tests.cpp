#include "resilience/diagnosis/pair_tests.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "resilience/diagnosis/link_comparison.hpp"
#include "resilience/diagnosis/link_tests.hpp"

namespace tenax::resilience {
namespace {

using kernels::Scope;
using parallel::GroupKind;

/// More than a round has passes, which are numbered from 0.
constexpr int kPassesOfRound = 1 << 10;

class PairRound {
 public:
  PairRound(const PairTestRequest& request, int round, const PairTestParts& parts)
      : request_(request), round_(round), parts_(parts) {
    for (const PairTest& test : request.pairs) {
      if (test.round != round) continue;
      kind_ = test.group;
      if (test.has(parts.control.rank())) mine_ = &test;
    }
  }

  /// Nothing where one of the links fails. The first round within `seconds` finds out `sizes`, which the next ones have too:
  /// only messages of one size can be compared.
  std::vector<LinkTime> run(double seconds, std::vector<std::size_t>& sizes) {
    if (!join()) return {};
    TestedGroup group{.kind = kind_, .ranks = {}, .communicator = link_.group.get()};
    if (mine_) group.ranks = {mine_->rank, mine_->other};
    LinkTests tests(parts_.control, std::move(group), link_.host ? *link_.host : parts_.device,
                    parts_.preempted_s, parts_.deadline_s);
    std::vector<LinkTime> times;
    try {
      times = sizes.empty() ? tests.run(request_.tests, seconds) : tests.run_as(sizes);
    } catch (const comm::AgreedError& error) {
      if (error.scope() != Scope::link) throw;
      return {};
    }
    if (sizes.empty()) sizes = tests.sizes();
    for (LinkTime& time : times) time.pass += round_ * kPassesOfRound;
    return times;
  }

 private:
  // Whether every rank has its link.
  bool join() {
    std::array failed = {0.0};
    try {
      link_ = parts_.join(mine_);
    } catch (const kernels::Error& error) {
      if (error.scope() != Scope::link) throw;
      failed[0] = 1;
    }
    parts_.control.all_reduce_max(failed);
    return failed[0] == 0;
  }

  const PairTestRequest& request_;
  const int round_;
  const PairTestParts& parts_;
  GroupKind kind_ = GroupKind::data;
  const PairTest* mine_ = nullptr;
  parallel::PairLink link_;
};

std::vector<PairResult> judged(const PairTestRequest& request, const std::vector<RankTests>& tests) {
  std::vector<PairResult> results;
  for (const PairTest& pair : request.pairs) {
    const LinkComparison comparison(pair.group, tests, request.tests.suspect);
    if (!comparison.can_judge(pair.rank, pair.other)) continue;
    const std::vector<Component> slow = comparison.slow();
    const auto found =
        std::find_if(slow.begin(), slow.end(), [&](const Component& link) { return pair.is_of(link); });
    const bool is_slow = found != slow.end();
    results.push_back({.test = pair,
                       .factor = is_slow ? found->factor : comparison.ratio(pair.rank, pair.other),
                       .is_slow = is_slow});
  }
  return results;
}

}  // namespace

std::vector<PairResult> test_pairs(const PairTestRequest& asked, const PairTestParts& parts) {
  const PairTestRequest request = parse_pair_test_request(parts.control.broadcast(to_text(asked), 0));
  int rounds = 0;
  for (const PairTest& test : request.pairs) rounds = std::max(rounds, test.round + 1);
  RankTests mine;
  std::vector<std::size_t> sizes;
  for (int round = 0; round < rounds; ++round) {
    const auto times = PairRound(request, round, parts).run(request.tests.seconds / rounds, sizes);
    mine.links.insert(mine.links.end(), times.begin(), times.end());
  }
  std::vector<RankTests> tests;
  for (const std::string& text : parts.control.all_gather(to_text(mine)))
    tests.push_back(parse_rank_tests(text));
  return judged(request, tests);
}

}  // namespace tenax::resilience
