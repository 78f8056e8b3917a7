#include "resilience/membership/state_digest.hpp"

#include <algorithm>

namespace tenax::resilience {
namespace {

constexpr std::size_t kQuarters = 4;
constexpr int kQuarterBits = 16;

}  // namespace

std::array<double, PlacedSum::kAddends> PlacedSum::addends() const {
  std::array<double, kAddends> values{};
  for (std::size_t i = 0; i < kAddends; ++i) {
    const std::uint64_t word = i < kQuarters ? sum : placed;
    values[i] = static_cast<double>((word >> (kQuarterBits * (i % kQuarters))) & 0xFFFF);
  }
  return values;
}

PlacedSum PlacedSum::of_addends(std::span<const double> sums) {
  PlacedSum total;
  for (std::size_t i = 0; i < kAddends; ++i)
    (i < kQuarters ? total.sum : total.placed) += static_cast<std::uint64_t>(sums[i])
                                                  << (kQuarterBits * (i % kQuarters));
  return total;
}

std::optional<std::int64_t> differing_place(const PlacedSum& a, const PlacedSum& b, std::int64_t places) {
  const std::uint64_t sum = a.sum - b.sum, placed = a.placed - b.placed;
  std::optional<std::int64_t> found;
  for (std::int64_t place = 1; place <= places; ++place) {
    if (sum * static_cast<std::uint64_t>(place) != placed) continue;
    if (found) return {};
    found = place;
  }
  return found;
}

std::uint64_t StateDigest::checksum() const {
  std::uint64_t all = 0;
  for (const PlacedSum& part : parts) all += part.sum;
  return all;
}

std::array<double, StateDigest::kAddends> StateDigest::addends() const {
  std::array<double, kAddends> values{};
  auto next = values.begin();
  for (const PlacedSum& part : parts) next = std::ranges::copy(part.addends(), next).out;
  return values;
}

StateDigest StateDigest::of_addends(std::span<const double> sums) {
  StateDigest digest;
  for (std::size_t i = 0; i < kParts; ++i)
    digest.parts[i] = PlacedSum::of_addends(sums.subspan(i * PlacedSum::kAddends, PlacedSum::kAddends));
  return digest;
}

DigestDifference difference(const StateDigest& a, const StateDigest& b, std::int64_t places) {
  DigestDifference found;
  bool is_one_place = true;
  for (std::size_t i = 0; i < StateDigest::kParts; ++i) {
    found.parts[i] = a.parts[i] != b.parts[i];
    if (!found.parts[i]) continue;
    const auto place = differing_place(a.parts[i], b.parts[i], places);
    is_one_place = is_one_place && place && (!found.place || *found.place == *place);
    found.place = place;
  }
  if (!is_one_place) found.place.reset();
  return found;
}

}  // namespace tenax::resilience
