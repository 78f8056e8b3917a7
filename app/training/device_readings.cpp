#include "app/training/device_readings.hpp"

#include "kernels/deadline.hpp"
#include "kernels/new_thread.hpp"

namespace tenax::app {

// The first one is not a step's: the device has nothing to do.
DeviceReadings::DeviceReadings(kernels::Device& device) : device_(device) {
  if (!read()) return;
  is_new_ = false;
  thread_ = kernels::new_jthread([this](const std::stop_token& stop) { serve(stop); });
}

bool DeviceReadings::read() {
  const double time_s = kernels::steady_now_s();
  const std::optional<kernels::DeviceReading> reading = device_.reading();
  if (!reading) return false;
  const std::lock_guard lock(mutex_);
  last_ = {.time_s = time_s, .reading = *reading};
  is_new_ = true;
  return true;
}

void DeviceReadings::serve(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (is_asked_for_.wait(lock, stop, [this] { return is_asked_; })) {
    is_asked_ = false;
    lock.unlock();
    read();
    lock.lock();
  }
}

void DeviceReadings::ask() {
  if (!thread_.joinable()) return;
  const std::lock_guard lock(mutex_);
  is_asked_ = true;
  is_asked_for_.notify_one();
}

std::optional<TimedReading> DeviceReadings::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(is_new_, false) ? last_ : std::nullopt;
}

std::optional<TimedReading> DeviceReadings::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

}  // namespace tenax::app
