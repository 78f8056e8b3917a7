// RestartPolicy: when a replica that died starts again, and when it is given up.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

namespace tenax::app {

/// Pure: seconds come in. Of one replica.
class RestartPolicy {
 public:
  struct Options {
    double delay_s = 0;  ///< before a lost replica starts again
    int limit = 5;       ///< starts in a row without a commit before it is given up; 0 = never
  };
  explicit RestartPolicy(Options options) : options_(options) {}

  void on_start() { ++starts_in_vain_; }
  /// An earlier supervisor has counted them.
  void continue_from(int starts_in_vain) { starts_in_vain_ = starts_in_vain; }
  /// It took part in a step that counts.
  void on_commit() { starts_in_vain_ = 0; }
  /// It died now. When it shall start again, in seconds from now; nothing: it is given up. What
  /// dies before it commits dies again, most likely: the second such start waits 1 s, the next ones
  /// twice as long each.
  std::optional<double> on_death() const {
    constexpr double kLongest_s = 60;
    if (options_.limit > 0 && starts_in_vain_ >= options_.limit) return {};
    const double backoff_s = starts_in_vain_ == 0 ? 0 : std::min(std::exp2(starts_in_vain_ - 1), kLongest_s);
    return std::max(options_.delay_s, backoff_s);
  }
  int starts_in_vain() const { return starts_in_vain_; }

 private:
  Options options_;
  int starts_in_vain_ = 0;  // in a row
};

}  // namespace tenax::app
