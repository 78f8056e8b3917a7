// PlacedSum and StateDigest: checksums of a replica's state, by which replicas are compared, and which say where one differs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tenax::resilience {

/// Sums modulo 2^64 over all places of a replica, which are the parameters that each of its ranks holds: of a number of each
/// place, and of the same times the place's own number, from 1 up. Where two replicas differ in one place by d, the second sums
/// differ by d times its number: no rank needs to tell of itself.
struct PlacedSum {
  std::uint64_t sum = 0, placed = 0;

  bool operator==(const PlacedSum&) const = default;
  void add(std::uint64_t number, std::uint64_t place) {
    sum += number;
    placed += number * place;
  }

  /// Numbers that doubles sum exactly over up to 2^37 ranks.
  static constexpr std::size_t kAddends = 8;
  std::array<double, kAddends> addends() const;
  static PlacedSum of_addends(std::span<const double> sums);
};

/// Which of `places` two sums differ in; absent where it is none, or more than one.
std::optional<std::int64_t> differing_place(const PlacedSum& a, const PlacedSum& b, std::int64_t places);

/// Of the checksums of a slice of the state: of weights, first and second moments.
struct StateDigest {
  static constexpr std::size_t kParts = 3;

  std::array<PlacedSum, kParts> parts{};

  bool operator==(const StateDigest&) const = default;
  /// One number for all of it, of the ledger.
  std::uint64_t checksum() const;

  static constexpr std::size_t kAddends = kParts * PlacedSum::kAddends;
  std::array<double, kAddends> addends() const;
  static StateDigest of_addends(std::span<const double> sums);
};

/// Where two digests of the same slice differ.
struct DigestDifference {
  std::array<bool, StateDigest::kParts> parts{};  ///< which of weights and moments do
  std::optional<std::int64_t> place;              ///< absent where they differ in more than one
};
/// `places`: how many there are.
DigestDifference difference(const StateDigest& a, const StateDigest& b, std::int64_t places);

}  // namespace tenax::resilience
