// AddressChoice: which of a peer's addresses a connection should be made to.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "comm/retry_delay.hpp"

namespace tenax::comm {

/// The addresses come best first. One that failed is left alone for 1, 2, 4, 5, 5 … s, from 1 again
/// once it has worked for a minute; but where all have failed, one of them is tried at once. Pure: the
/// clock is passed in, in seconds, and never goes back.
///
/// Thread rule: one thread at a time.
class AddressChoice {
 public:
  explicit AddressChoice(std::size_t addresses) : addresses_(addresses) {}

  /// The best that is not left alone, else the one whose last attempt is longest ago. At least one
  /// address is needed.
  std::size_t next(double now_s) const;
  /// The best that is better than `present`, and not left alone.
  std::optional<std::size_t> better_than(std::size_t present, double now_s) const;
  /// A connection has been made.
  void worked(std::size_t address, double now_s);
  /// It could not be made, or has broken.
  void failed(std::size_t address, double now_s);

 private:
  struct State {
    RetryDelay delay;
    std::optional<double> works_since_s = {};
    double tried_s = -1, rests_until_s = 0;
  };
  std::vector<State> addresses_;
};

}  // namespace tenax::comm
