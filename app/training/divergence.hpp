// Divergence: whether a run computes nothing but infinities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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
  std::optional<std::string> complaint() const;

 private:
  std::int64_t step_ = 0;
  int skipped_in_a_row_ = 0;
};

}  // namespace tenax::app
