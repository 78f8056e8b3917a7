// When events were passed, on the host's steady clock.
//
// CUDA tells only the time between two events, in milliseconds as a float: exact to 4 us up to 131 s, worse
// beyond. And the GPU's oscillator is not the host's: 10 ppm apart they lose 10 us a second. So times are
// told from an anchor: an event on a stream of its own, recorded between two readings of the host's clock. Of
// several tries the one with the closest readings counts: the device passed the mark somewhere between them,
// half their distance is the error, a few us on an idle machine. An anchor older than kAnchorLife_s is
// replaced (some 0.1 ms of the asking thread), so errors neither grow nor add up over days; two times told
// from different anchors may be wrong against each other by the sum of both errors.
#pragma once

#include <mutex>

#include "kernels/cuda/check.hpp"

namespace tenax::kernels::cuda {

/// Thread rule: any thread, with the clock's device current.
class EventClock {
 public:
  static constexpr double kAnchorLife_s = 1;
  static constexpr double kPatience_s = 30;  ///< ranks that share a GPU start on it at once

  /// For the device that is current. Throws Error(rank) when it does not answer.
  explicit EventClock(double anchor_life_s = kAnchorLife_s, double patience_s = kPatience_s);

  /// Seconds of std::chrono::steady_clock at which `event`, which is done, was passed.
  double time_s(cudaEvent_t event);

 private:
  struct Anchor {
    OwnedEvent event = create_event(cudaEventDefault);
    double time_s = 0, error_s = 0;
  };
  /// False when the device did not pass the mark soon.
  bool drop(Anchor& anchor) const;
  /// Where the device is too busy for that, the old anchor has to do for another while.
  void renew();

  const double anchor_life_s_;
  std::mutex mutex_;
  OwnedStream stream_ = create_stream();
  Anchor anchor_;
  Anchor trial_;  ///< its event takes turns with the anchor's
  double renewed_s_ = 0;
};

}  // namespace tenax::kernels::cuda
