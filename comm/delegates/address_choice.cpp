#include "comm/delegates/address_choice.hpp"

#include <algorithm>

namespace tenax::comm {
namespace {

constexpr double kLongestRest_s = 5;  // an attempt holds nobody up, and finds what has come back

}  // namespace

std::size_t AddressChoice::next(double now_s) const {
  if (const auto best = better_than(addresses_.size(), now_s)) return *best;
  const auto oldest =
      std::min_element(addresses_.begin(), addresses_.end(),
                       [](const State& one, const State& other) { return one.tried_s < other.tried_s; });
  return static_cast<std::size_t>(oldest - addresses_.begin());
}

std::optional<std::size_t> AddressChoice::better_than(std::size_t present, double now_s) const {
  for (std::size_t address = 0; address < present; ++address)
    if (addresses_[address].rests_until_s <= now_s) return address;
  return std::nullopt;
}

void AddressChoice::worked(std::size_t address, double now_s) {
  State& state = addresses_[address];
  state.tried_s = state.rests_until_s = now_s;
  state.works_since_s = now_s;
}

void AddressChoice::failed(std::size_t address, double now_s) {
  State& state = addresses_[address];
  const double rest_s = state.delay.after_failure_s(state.works_since_s.value_or(now_s), now_s);
  state.rests_until_s = now_s + std::min(rest_s, kLongestRest_s);
  state.tried_s = now_s;
  state.works_since_s.reset();
}

}  // namespace tenax::comm
