// What every control group must do, whatever carries it.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "comm/control_group.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

inline void expect_texts_arrive(ControlGroup& group) {
  for (const std::size_t length : {0, 1, 247, 248, 249, 252, 100001}) {
    std::vector<std::string> expected;
    for (int rank = 0; rank < group.size(); ++rank)
      expected.emplace_back(length, static_cast<char>('a' + rank));
    EXPECT_EQ(group.all_gather(expected[static_cast<std::size_t>(group.rank())]), expected);
    const int root = group.size() - 1;
    EXPECT_EQ(group.broadcast(group.rank() == root ? expected.back() : "", root), expected.back());
    group.all_gather({});
  }
}

inline void expect_reductions(ControlGroup& group) {
  std::vector<double> values = {1.0 + group.rank(), -1.0 * group.rank(), 0.1};
  group.all_reduce_sum(values);
  double tenths = 0.1;
  for (int rank = 1; rank < group.size(); ++rank) tenths += 0.1;
  const double n = group.size();
  EXPECT_EQ(values, (std::vector<double>{n * (n + 1) / 2, -n * (n - 1) / 2, tenths}));
  std::vector<double> maxima = {1.0 * group.rank(), -1.0 * group.rank()};
  group.all_reduce_max(maxima);
  EXPECT_EQ(maxima, (std::vector<double>{n - 1, 0}));
  group.all_reduce_sum({});
}

/// In a group of three or more: 1 is lost beside 10^17 unless it comes last.
inline void expect_sums_in_the_order_asked_for(ControlGroup& group) {
  std::vector<int> order(static_cast<std::size_t>(group.size()));
  std::iota(order.rbegin(), order.rend(), 0);
  for (const bool backwards : {false, true}) {
    std::vector<double> value = {group.rank() == 0   ? 1.0
                                 : group.rank() == 1 ? 1e17
                                 : group.rank() == 2 ? -1e17
                                                     : 0.0};
    if (backwards)
      group.all_reduce_sum(value, order);
    else
      group.all_reduce_sum(value);
    if (group.size() > 2) {
      EXPECT_EQ(value.front(), backwards ? 1 : 0);
    }
  }
}

/// Every rank must throw the error of rank 1 (of 0 in a group of one), though a later rank fails too.
inline void expect_agreement_on_lowest_failure(ControlGroup& group) {
  using kernels::Error;
  using kernels::Scope;
  const int lowest = group.size() > 1 ? 1 : 0;
  const auto work = [&] {
    if (group.rank() == lowest) throw Error(Scope::operation, "no such file: " + std::to_string(lowest));
    if (group.rank() > lowest) throw std::runtime_error("a later failure");
  };
  try {
    group.agree(work);
    ADD_FAILURE() << "rank " << group.rank() << " did not learn of the failure";
  } catch (const Error& error) {
    EXPECT_EQ(error.scope(), Scope::operation);
    EXPECT_EQ(std::string(error.what()), "no such file: " + std::to_string(lowest));
  }
  int done = 0;
  group.agree([&] { ++done; });  // the group is usable afterwards, and success is silent
  EXPECT_EQ(done, 1);
}

}  // namespace tenax::comm
