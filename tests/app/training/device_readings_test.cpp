// Readings of a device, which are waited for by nobody.
#include "app/training/device_readings.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "kernels/deadline.hpp"
#include "kernels/forwarding_device.hpp"

namespace tenax::app {
namespace {

/// Tells its number of readings for a temperature, where it tells anything; answers once it may.
class SlowToTell final : public kernels::ForwardingDevice<kernels::Device> {
 public:
  explicit SlowToTell(bool tells) : ForwardingDevice(kernels::create_cpu_device()), tells_(tells) {}
  kernels::Kernels& kernels() override { return inner().kernels(); }
  std::optional<kernels::DeviceReading> reading() override {
    ++readings;
    while (!may_answer) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!tells_) return std::nullopt;
    return kernels::DeviceReading{.temperature_c = static_cast<double>(readings), .throttled_by = {}};
  }

  std::atomic<int> readings = 0;
  std::atomic<bool> may_answer = true;

 private:
  const bool tells_;
};

/// Gives the thread ten seconds.
std::optional<TimedReading> taken_from(DeviceReadings& readings) {
  const kernels::Deadline deadline = kernels::Deadline::after_s(10);
  while (!deadline.expired())
    if (const auto taken = readings.take()) return taken;
  return std::nullopt;
}

TEST(DeviceReadings, are_taken_once) {
  SlowToTell device(true);
  DeviceReadings readings(device);
  EXPECT_FALSE(readings.take());  // nothing was asked
  EXPECT_EQ(readings.last().value().reading.temperature_c, 1);
  const double asked_s = kernels::steady_now_s();
  readings.ask();
  const auto taken = taken_from(readings);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->reading.temperature_c, 2);
  EXPECT_GE(taken->time_s, asked_s);
  EXPECT_FALSE(readings.take());
  EXPECT_EQ(readings.last().value().reading.temperature_c, 2);
}

TEST(DeviceReadings, that_come_late_are_those_of_a_later_step) {
  SlowToTell device(true);
  DeviceReadings readings(device);
  device.may_answer = false;
  readings.ask();
  while (device.readings < 2) std::this_thread::yield();
  EXPECT_FALSE(readings.take());
  EXPECT_EQ(readings.last().value().reading.temperature_c, 1);
  device.may_answer = true;
  EXPECT_EQ(taken_from(readings).value().reading.temperature_c, 2);
}

TEST(DeviceReadings, are_not_asked_for_where_the_device_tells_none) {
  SlowToTell device(false);
  {
    DeviceReadings readings(device);
    readings.ask();
    EXPECT_FALSE(readings.take() || readings.last());
  }
  EXPECT_EQ(device.readings, 1);
}

}  // namespace
}  // namespace tenax::app
