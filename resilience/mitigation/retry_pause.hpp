// RetryPause: how long what was not possible is left alone before it is tried again.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tenax::resilience {

/// Pure; an iteration is the unit of time. The first failure is followed by a pause of 20 iterations, each further one
/// by one twice as long, up to 640.
class RetryPause {
 public:
  bool has_failed() const { return iterations_ > 0; }
  bool is_over() const { return left_ == 0; }
  /// An iteration has ended.
  void add() { left_ = std::max<std::int64_t>(left_ - 1, 0); }
  /// What has passed of it counts no more.
  void begin_again() { left_ = iterations_; }
  /// It was not possible once more.
  void failed();

 private:
  std::int64_t iterations_ = 0, left_ = 0;
};

inline void RetryPause::failed() {
  constexpr std::int64_t kFirst = 20, kLongest = 640;
  iterations_ = std::clamp(2 * iterations_, kFirst, kLongest);
  begin_again();
}

}  // namespace tenax::resilience
