// Ranks that are threads, devices that are stand-ins, and the fake NCCL.
#pragma once

#include <gtest/gtest.h>

#include "comm/nccl.hpp"
#include "kernels/error.hpp"
#include "tests/comm/device_collective_checks.hpp"
#include "tests/comm/nccl/fake_nccl.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::comm {

/// One that is not.
inline constexpr double kPatience_s = 60;

/// A deadline that is meant to pass, and that a busy machine meets where it is not.
inline constexpr double kShort_s = 2;

inline kernels::Deadline soon() { return kernels::Deadline::after_s(30); }

inline std::vector<float> filled(std::size_t floats, int value) {
  return std::vector<float>(floats, static_cast<float>(value));
}

/// Runs `body` on ranks that have a device, current for NCCL, and a stream.
inline void run_on_devices(int ranks, double deadline_s,
                           const std::function<void(World&, kernels::Device&, kernels::Stream&)>& body) {
  run_ranks(ranks, deadline_s, [&](World& world) {
    const auto device =
        kernels::test::create_stand_in({.jitter_us = 300, .seed = static_cast<std::uint64_t>(world.rank())});
    const fake_nccl::OnDevice on_device(*device);
    const auto stream = device->create_stream();
    body(world, *device, *stream);
  });
}

inline void expect_error(const std::function<void()>& work, const std::vector<std::string>& parts) {
  try {
    work();
    ADD_FAILURE() << "ended well";
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.scope(), kernels::Scope::link);
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << part << " is not in: " << error.what();
  }
}

}  // namespace tenax::comm
