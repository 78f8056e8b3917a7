#include "resilience/diagnosis/device_probe.hpp"

#include <gtest/gtest.h>

#include "kernels/emulated_device.hpp"
#include "resilience/faults/compute_faults.hpp"

namespace tenax::resilience {
namespace {

TEST(DeviceProbe, takes_the_emulated_devices_own_time) {
  const auto device = kernels::create_emulated_device({.probe_s = 0.004});
  DeviceProbe probe(*device);
  const auto times = probe.run({});
  ASSERT_EQ(times.size(), 1U);
  EXPECT_NEAR(times[0].seconds, 0.004, 1e-6);
  EXPECT_NEAR(times[0].healthy_s, 0.004, 1e-6);
  EXPECT_EQ(times[0].preempted_s, 0);
}

TEST(DeviceProbe, remembers_how_long_it_took_while_healthy) {
  ComputeFaults faults({{.window = {.from_step = 1}, .factor = 3, .trace = nullptr}});
  const auto device = faults.wrap(kernels::create_emulated_device({.probe_s = 0.004}));
  faults.begin_step(0);
  DeviceProbe probe(*device);
  faults.begin_step(1);
  const auto times = probe.run({});
  EXPECT_NEAR(times[0].healthy_s, 0.004, 1e-6);
  EXPECT_NEAR(times[0].seconds, 0.012, 2e-3) << "the host comes to the second half a moment later";
}

TEST(DeviceProbe, multiplies_in_both_compute_types_on_the_host) {
  const auto device = kernels::create_cpu_device();
  DeviceProbe probe(*device);
  int asked = 0;
  const auto times = probe.run([&asked] { return ++asked == 1 ? 100.0 : 0.3; });
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].type, kernels::DType::f32);
  EXPECT_EQ(times[1].type, kernels::DType::bf16);
  for (const ProductTime& time : times) {
    EXPECT_GT(time.seconds, 0);
    EXPECT_GT(time.healthy_s, 0);
    EXPECT_NEAR(time.preempted_s, 0.1, 1e-9)
        << "of what was while it ran, the share of one of three products";
  }
}

}  // namespace
}  // namespace tenax::resilience
