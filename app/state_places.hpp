// StatePlaces: numbers for the parameters that the ranks of a replica hold, by which replicas tell where their states differ.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/deck/deck.hpp"

namespace tenax::app {

/// Equal wherever the deck is: a place is a rank and a parameter, whether or not the rank holds some of it.
class StatePlaces {
 public:
  explicit StatePlaces(const io::Deck& deck);

  /// From 1 up.
  std::int64_t place(int rank, const std::string& tensor) const;
  std::int64_t count() const { return ranks_ * tensors(); }
  int rank_of(std::int64_t place) const { return static_cast<int>((place - 1) / tensors()); }
  const std::string& tensor_of(std::int64_t place) const {
    return names_[static_cast<std::size_t>((place - 1) % tensors())];
  }
  /// Of the state's parts, in the order of their digests: "weight", then the optimizer's moments.
  const std::vector<std::string>& parts() const { return parts_; }

 private:
  std::int64_t tensors() const { return static_cast<std::int64_t>(names_.size()); }

  std::int64_t ranks_;
  std::vector<std::string> names_, parts_;
  std::map<std::string, std::int64_t> number_of_name_;
};

}  // namespace tenax::app
