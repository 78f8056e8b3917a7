// What is read by way of NVML, from libraries that are not the driver's.
#include "kernels/cuda/nvml.hpp"

#include <gtest/gtest.h>

#include "tests/kernels/fake_nvml.hpp"

namespace tenax::kernels::cuda {
namespace {

using test::FakeNvml;

constexpr const char* kBusId = "0000:3b:00.0";

/// One of the fakes, as it was built.
struct Fake {
  explicit Fake(const char* file)
      : library("NVML", file, file),
        state(*reinterpret_cast<FakeNvml* (*)()>(library.function("fake_nvml"))()) {
    state = {};
  }
  NvmlDevice device(const char* bus_id = kBusId) const { return {library, bus_id}; }

  SharedLibrary library;
  FakeNvml& state;
};

TEST(NvmlDevice, tells_clock_temperature_and_what_holds_it_back) {
  Fake fake(FAKE_NVML);
  const NvmlDevice device = fake.device();
  EXPECT_EQ(device.note(), "");
  fake.state.reasons = 0x04 | 0x40;
  const auto reading = device.read();
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->sm_clock_mhz, 1755);
  EXPECT_EQ(reading->max_sm_clock_mhz, 1980);
  EXPECT_EQ(reading->temperature_c, 61);
  ThrottleSet both;
  both.add(Throttle::power_cap);
  both.add(Throttle::hardware_thermal);
  EXPECT_EQ(reading->throttled_by, both);
  EXPECT_EQ(fake.state.initialized, 1);
}

TEST(NvmlDevice, knows_each_reason_and_takes_idling_and_set_clocks_for_none) {
  Fake fake(FAKE_NVML);
  const NvmlDevice device = fake.device();
  const auto reason_of = [&](unsigned long long mask) {
    fake.state.reasons = mask;
    return device.read().value().throttled_by;
  };
  EXPECT_TRUE(reason_of(0x08).has(Throttle::hardware_slowdown));
  EXPECT_TRUE(reason_of(0x20).has(Throttle::software_thermal));
  EXPECT_TRUE(reason_of(0x80).has(Throttle::power_brake));
  EXPECT_TRUE(reason_of(0x01 | 0x02 | 0x10 | 0x100).is_empty());
}

TEST(NvmlDevice, reads_reasons_by_their_older_name) {
  Fake fake(FAKE_NVML_OLD);
  const NvmlDevice device = fake.device();
  fake.state.reasons = 0x04;
  EXPECT_TRUE(device.read().value().throttled_by.has(Throttle::power_cap));
}

TEST(NvmlDevice, what_a_library_lacks_is_absent) {
  const Fake fake(FAKE_NVML_SMALL);
  const NvmlDevice device = fake.device();
  EXPECT_EQ(device.note(), "");
  EXPECT_EQ(device.read().value().temperature_c, 61);
  EXPECT_EQ(device.read().value().sm_clock_mhz, 0);
  EXPECT_TRUE(device.read().value().throttled_by.is_empty());
}

TEST(NvmlDevice, a_gpu_that_tells_nothing_has_no_reading_and_a_note) {
  Fake fake(FAKE_NVML);
  constexpr int kNotSupported = 3;
  fake.state.status = kNotSupported;
  const NvmlDevice device = fake.device();
  EXPECT_FALSE(device.read());
  EXPECT_EQ(device.note(),
            "clock and temperature of the GPU are not recorded: NVML tells neither of this one");
}

TEST(NvmlDevice, says_why_where_there_is_no_such_gpu_or_no_library) {
  const NvmlDevice other = Fake(FAKE_NVML).device("0000:af:00.0");
  EXPECT_FALSE(other.read());
  EXPECT_TRUE(other.note().ends_with("nvmlDeviceGetHandleByPciBusId_v2 returns 6")) << other.note();
  const NvmlDevice none(SharedLibrary("NVML", "libtenax-none.so.1", "libtenax-none.so"), kBusId);
  EXPECT_FALSE(none.read());
  EXPECT_TRUE(none.note().ends_with("the driver's NVML (libnvidia-ml.so.1) is not to be found"))
      << none.note();
}

}  // namespace
}  // namespace tenax::kernels::cuda
