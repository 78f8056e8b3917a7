// What is slow, by times that are made up: a table of suspects, tests and findings.
#include "resilience/diagnosis/validation_findings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "resilience/diagnosis/link_comparison.hpp"
#include "tests/resilience/diagnosis/made_up_ranks.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;
using Words = std::vector<std::string>;

constexpr int kPasses = 5;
/// Of each pass: its messages, and what they take.
const std::vector<std::size_t> kBytes = {4, 16'000'000, 32'000'000, 64'000'000, 4};
const std::vector<double> kHealthy_s = {1e-4, 16e-3, 32e-3, 64e-3, 1e-4};

Component rank_part(int rank, SlowCause cause = SlowCause::compute) {
  return {.kind = Component::Kind::rank, .rank = rank, .cause = cause, .factor = 1.7, .healthy_s = 0.3};
}
Component link_part(int rank, int other, GroupKind group = GroupKind::data) {
  return {.kind = Component::Kind::link,
          .rank = rank,
          .other = other,
          .group = group,
          .cause = SlowCause::link,
          .factor = 1.7,
          .healthy_s = 0.3};
}

/// What 8 ranks measured: products of 5 ms, and two data groups, rings of the even and of the odd ranks.
class Tests {
 public:
  static constexpr int kRanks = 8;

  explicit Tests(double noise = 0) : noise_(noise), tests_(kRanks) {
    for (int rank = 0; rank < kRanks; ++rank)
      product(rank) = {
          .type = kernels::DType::f32, .seconds = noisy(5e-3), .healthy_s = 5e-3, .preempted_s = 0};
    for (int rank = 0; rank < kRanks; ++rank) add_links(rank, (rank + 2) % kRanks);
  }
  Tests& slow_rank(int rank, double factor, double preempted_s = 0) {
    product(rank).seconds *= factor;
    product(rank).preempted_s = preempted_s;
    return *this;
  }
  Tests& slow_link(int a, int b, double delay_s, double factor = 1) {
    for (RankTests& rank : tests_)
      for (LinkTime& time : rank.links)
        if (std::minmax(time.from, time.to) == std::minmax(a, b))
          time.seconds = time.seconds * factor + delay_s;
    return *this;
  }
  /// One message alone, as if somebody had been kept from running.
  Tests& spike(int from, int pass, double seconds) {
    tests_[static_cast<std::size_t>(from)].links[static_cast<std::size_t>(pass)].seconds += seconds;
    return *this;
  }
  Tests& preempt(int rank, double seconds) {
    for (LinkTime& time : tests_[static_cast<std::size_t>(rank)].links) time.preempted_s = seconds;
    return *this;
  }
  Tests& only_link(int a, int b) {
    for (RankTests& rank : tests_)
      std::erase_if(rank.links, [&](const LinkTime& time) {
        return std::minmax(time.from, time.to) != std::minmax(a, b);
      });
    return *this;
  }
  Tests& only_passes(int first, int last) {
    for (RankTests& rank : tests_)
      std::erase_if(rank.links, [=](const LinkTime& time) { return time.pass < first || time.pass > last; });
    return *this;
  }
  std::vector<RankTests>& all() { return tests_; }

 private:
  ProductTime& product(int rank) {
    auto& products = tests_[static_cast<std::size_t>(rank)].products;
    if (products.empty()) products.emplace_back();
    return products.front();
  }
  void add_links(int a, int b) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      for (int pass = 0; pass < kPasses; ++pass) {
        const auto p = static_cast<std::size_t>(pass);
        tests_[static_cast<std::size_t>(from)].links.push_back(
            {.from = from, .to = to, .pass = pass, .bytes = kBytes[p], .seconds = noisy(kHealthy_s[p])});
      }
  }
  double noisy(double seconds) { return seconds * (1 + noise_ * normal_(random_)); }

  double noise_;
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
  std::vector<RankTests> tests_;
};

Suspects suspects(std::vector<Component> components, std::vector<std::vector<int>> groups = {}) {
  Suspects suspects{.components = std::move(components), .groups = {}};
  for (auto& ranks : groups)
    suspects.groups.push_back({.kind = GroupKind::data, .ranks = std::move(ranks), .factor = 2});
  return suspects;
}
const std::vector<int> kEven = {0, 2, 4, 6}, kOdd = {1, 3, 5, 7};

Words words(const std::vector<Component>& components) {
  return words_of(Suspects{.components = components, .groups = {}});
}
Words found(const Suspects& suspects, const std::vector<RankTests>& tests) {
  ValidationRequest request;
  request.suspects = suspects;
  return words(find_slow(request, tests).components);
}

TEST(ValidationFindings, confirm_what_is_slow_and_drop_what_is_not) {
  const auto contended = rank_part(5, SlowCause::cpu_contention);
  struct {
    const char* what;
    Suspects suspects;
    Tests tests;
    Words expected;
  } const cases[] = {
      {"nothing", {}, Tests(), {}},
      {"nothing named, a rank", {}, Tests().slow_rank(3, 1.3), {"rank 3 compute"}},
      {"a named rank", suspects({rank_part(3)}), Tests().slow_rank(3, 5), {"rank 3 compute"}},
      {"healed", suspects({rank_part(3)}), Tests(), {}},
      {"a rank that nobody asked about", suspects({rank_part(3)}), Tests().slow_rank(4, 2), {}},
      {"a rank of a suspect group", suspects({}, {kEven}), Tests().slow_rank(4, 2), {"rank 4 compute"}},
      {"others had the processor",
       suspects({rank_part(3)}),
       Tests().slow_rank(3, 2, 3e-3),
       {"rank 3 cpu_contention"}},
      {"contention that has gone", suspects({contended}), Tests(), {"rank 5 cpu_contention"}},
      {"a link of a group, by delay",
       suspects({}, {kEven}),
       Tests().slow_link(2, 4, 4e-3),
       {"data link 2-4"}},
      {"by bandwidth", suspects({}, {kEven}), Tests().slow_link(6, 0, 0, 1.3), {"data link 0-6"}},
      {"others had a receiver's processor",
       suspects({}, {kEven}),
       Tests().slow_link(2, 4, 4e-3).preempt(4, 0.1),
       {}},
      {"of a group that is not suspect", suspects({}, {kEven}), Tests().slow_link(3, 5, 4e-3), {}},
      {"two links",
       suspects({}, {kEven, kOdd}),
       Tests().slow_link(2, 4, 4e-3).slow_link(1, 3, 0, 3),
       {"data link 1-3", "data link 2-4"}},
      {"a link and a rank",
       suspects({rank_part(1), link_part(2, 4)}),
       Tests().slow_link(2, 4, 4e-3).slow_rank(1, 2),
       {"rank 1 compute", "data link 2-4"}},
      {"a link that healed", suspects({link_part(2, 4)}), Tests(), {}},
      {"the only link", suspects({link_part(2, 4)}), Tests().only_link(2, 4), {"data link 2-4"}},
      {"a link that was not tested", suspects({link_part(2, 3)}), Tests(), {"data link 2-3"}},
      {"a pipeline's link", suspects({link_part(2, 3, GroupKind::pipeline)}), Tests(), {"pipeline link 2-3"}},
      {"one pass alone",
       suspects({}, {kEven}),
       Tests().slow_link(2, 4, 0.5).only_passes(0, 0),
       {"data link 2-4"}},
      {"one of each sort",
       suspects({}, {kEven}),
       Tests().slow_link(2, 4, 0.5).only_passes(0, 1),
       {"data link 2-4"}},
      {"slow in one sort alone",
       suspects({}, {kEven}),
       Tests().slow_link(2, 4, 0, 1.3).only_passes(0, 1),
       {}},
      {"one late look", suspects({}, {kEven}), Tests().spike(2, 3, 0.5), {}},
      {"two", suspects({}, {kEven}), Tests().spike(2, 0, 0.5).spike(2, 3, 0.5), {}},
  };
  for (const auto& each : cases) {
    Tests tests = each.tests;
    EXPECT_EQ(found(each.suspects, tests.all()), each.expected) << each.what;
  }
}

TEST(ValidationFindings, have_trainings_own_figures_where_profiling_has_them) {
  ValidationRequest request;
  request.suspects = suspects({rank_part(3)}, {kEven});
  const auto components = find_slow(request, Tests().slow_rank(3, 2).slow_link(2, 4, 0, 3).all()).components;
  ASSERT_EQ(components.size(), 2U);
  EXPECT_EQ(components[0].factor, 1.7);
  EXPECT_EQ(components[0].healthy_s, 0.3);
  EXPECT_NEAR(components[1].factor, 3, 1e-9);
  EXPECT_NEAR(components[1].healthy_s * components[1].factor, 3 * 16e-3, 0.2);
}

TEST(ValidationFindings, see_when_all_products_have_become_slower_alike) {
  Tests tests;
  for (int rank = 0; rank < Tests::kRanks; ++rank) tests.slow_rank(rank, 1.4);
  const auto findings = find_slow({}, tests.all());
  EXPECT_TRUE(findings.is_common);
  EXPECT_EQ(words(findings.components), Words{});
  EXPECT_FALSE(find_slow({}, Tests().all()).is_common);
}

TEST(ValidationFindings, leave_the_verdict_to_profiling_where_products_take_no_time) {
  Tests tests;
  for (RankTests& rank : tests.all()) rank.products = {ProductTime{}};
  EXPECT_EQ(found(suspects({rank_part(3)}), tests.all()), Words{"rank 3 compute"});
}

TEST(ValidationFindings, take_noise_for_no_fault) {
  for (const double noise : {0.01, 0.03}) EXPECT_EQ(found({}, Tests(noise).all()), Words{}) << noise;
  Tests loud(0.1);
  EXPECT_EQ(words(LinkComparison(GroupKind::data, loud.all(), 1.1).slow()), Words{});
}

TEST(ValidationMessages, arrive_as_they_were) {
  ValidationRequest request;
  request.suspects =
      suspects({rank_part(3, SlowCause::cpu_contention), link_part(2, 4, GroupKind::tensor)}, {kOdd});
  request.suspects.is_common = true;
  request.probe_mb = {0.5};
  request.data_bytes_per_s = 1.0 / 3;
  const ValidationRequest read = parse_validation_request(to_text(request));
  EXPECT_EQ(words(read.suspects.components), words(request.suspects.components));
  EXPECT_EQ(read.suspects.components[1].group, GroupKind::tensor);
  EXPECT_EQ(read.suspects.groups[0].ranks, kOdd);
  EXPECT_TRUE(read.suspects.is_common);
  EXPECT_EQ(read.probe_mb, request.probe_mb);
  EXPECT_EQ(read.data_bytes_per_s, request.data_bytes_per_s);
  const RankTests mine = Tests().slow_rank(0, 1.1, 2e-3).all()[0];
  const RankTests theirs = parse_rank_tests(to_text(mine));
  EXPECT_EQ(theirs.products[0].preempted_s, 2e-3);
  ASSERT_EQ(theirs.links.size(), mine.links.size());
  EXPECT_EQ(theirs.links.back().seconds, mine.links.back().seconds);
  EXPECT_EQ(to_text(theirs), to_text(mine));
}

}  // namespace
}  // namespace tenax::resilience
