// Divergence: whether a run computes nothing but infinities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/units.hpp"

namespace tenax::app {

/// Used by one thread.
class Divergence {
 public:
  /// The next step; `finite`: its loss and its gradient are.
  void add(std::int64_t step, bool finite) {
    step_ = step;
    skipped_in_a_row_ = finite ? 0 : skipped_in_a_row_ + 1;
  }
  /// Why the run ends, once too many in a row were not.
  std::optional<std::string> complaint() const {
    constexpr int kMaxSkippedInARow = 10;
    if (skipped_in_a_row_ < kMaxSkippedInARow) return {};
    return format(
        "%d steps in a row had a non-finite loss or gradient (the last was step %lld): the run has diverged; "
        "lower "
        "optimizer.lr or resume from an earlier checkpoint",
        kMaxSkippedInARow, static_cast<long long>(step_));
  }

 private:
  std::int64_t step_ = 0;
  int skipped_in_a_row_ = 0;
};

}  // namespace tenax::app
