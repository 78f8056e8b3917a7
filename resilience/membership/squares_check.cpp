#include "resilience/membership/squares_check.hpp"

#include <algorithm>
#include <utility>

namespace tenax::resilience {

void SquaresCheck::begin(std::vector<int> ring, std::set<int> voters) {
  ring_ = std::move(ring);
  voters_ = std::move(voters);
  open_.clear();
}

std::vector<int> SquaresCheck::add(std::int64_t step, int replica, std::uint64_t squares) {
  voters_.insert(replica);
  Squares& all = open_[step];
  all[replica] = squares;
  if (!std::all_of(voters_.begin(), voters_.end(), [&](int voter) { return all.contains(voter); })) return {};
  std::vector<int> differing = minority(all);
  open_.erase(open_.begin(), open_.upper_bound(step));
  return differing;
}

std::vector<int> SquaresCheck::minority(const Squares& squares) const {
  const auto count = [&](std::uint64_t value) {
    return std::count_if(squares.begin(), squares.end(), [&](const auto& it) { return it.second == value; });
  };
  std::uint64_t right = 0;
  std::int64_t most = 0;
  for (const int replica : ring_) {
    const auto found = squares.find(replica);
    if (found == squares.end() || count(found->second) <= most) continue;
    right = found->second;
    most = count(right);
  }
  std::vector<int> differing;
  for (const auto& [replica, value] : squares)
    if (value != right) differing.push_back(replica);
  return differing;
}

}  // namespace tenax::resilience
