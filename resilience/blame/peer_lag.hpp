// PeerLag: whether a rank has done fewer operations of a kind than the ranks that have come as far as it has.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "resilience/blame/hang_dump.hpp"

namespace tenax::resilience {

/// Groups are of one kind whose names are equal up to the numbers at their ends. It needs no step before, unlike PeriodCounts, but ranks whose
/// programs are alike.
class PeerLag {
 public:
  /// `dump` must outlive it.
  explicit PeerLag(const HangDump& dump);

  /// Of the ranks that stand in the same operation as `rank`, from −1 to 1: the share that has begun more of the kind of
  /// `channel`, less the rest. 0 where nobody else stands there.
  double of(int rank, int channel) const;

 private:
  const HangDump& dump_;
  std::vector<std::map<std::string, std::int64_t>> started_;  // by rank and kind
  std::map<std::pair<int, std::int64_t>, std::vector<int>> standing_;
};

}  // namespace tenax::resilience
