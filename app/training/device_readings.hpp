// DeviceReadings: this rank's device tells of itself once a step, on a thread that costs the step nothing.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "kernels/device.hpp"

namespace tenax::app {

struct TimedReading {
  double time_s = 0;  ///< steady clock
  kernels::DeviceReading reading;
};

/// A driver may take milliseconds to answer, and longer under other calls: nobody waits for it. Where the
/// device tells nothing when this is made there is no thread. One thread calls.
class DeviceReadings {
 public:
  /// Reads once, which may take some tenths of a second. `device` must outlive this.
  explicit DeviceReadings(kernels::Device& device);

  /// It is read now, while it is busy with what it was given. Returns at once.
  void ask();
  /// The last reading since the last call; empty where there is none yet.
  std::optional<TimedReading> take();
  /// The last one of all.
  std::optional<TimedReading> last() const;

 private:
  void serve(const std::stop_token& stop);
  bool read();

  kernels::Device& device_;
  mutable std::mutex mutex_;
  std::condition_variable_any is_asked_for_;
  bool is_asked_ = false, is_new_ = false;
  std::optional<TimedReading> last_;
  std::jthread thread_;  // the last member: it ends before the others do
};

}  // namespace tenax::app
