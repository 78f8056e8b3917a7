#include "app/training/divergence.hpp"

#include "app/units.hpp"

namespace tenax::app {

std::optional<std::string> Divergence::complaint() const {
  constexpr int kMaxSkippedInARow = 10;
  if (skipped_in_a_row_ < kMaxSkippedInARow) return {};
  return format(
      "%d steps in a row had a non-finite loss or gradient (the last was step %lld): the run has diverged; "
      "lower "
      "optimizer.lr or resume from an earlier checkpoint",
      kMaxSkippedInARow, static_cast<long long>(step_));
}

}  // namespace tenax::app
