// ProbeSchedule: in which steps a link is tested that no message tells anything of. Pure.
#pragma once

#include <cstdint>

namespace tenax::resilience {

/// 20 steps after it was last heard of, then 40, 80 … 640 steps after its last test, and every 640.
class ProbeSchedule {
 public:
  /// `step`: the last one in which messages told how slow it is.
  explicit ProbeSchedule(std::int64_t step) : last_(step) {}

  bool is_due(std::int64_t step) const { return step - last_ >= interval_; }
  void on_probe(std::int64_t step);

 private:
  std::int64_t last_;
  std::int64_t interval_ = 20;
};

inline void ProbeSchedule::on_probe(std::int64_t step) {
  constexpr std::int64_t kMostSteps = 640;
  last_ = step;
  interval_ = interval_ < kMostSteps ? 2 * interval_ : kMostSteps;
}

}  // namespace tenax::resilience
