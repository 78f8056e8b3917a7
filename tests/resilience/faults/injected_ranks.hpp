// Ranks that are threads, with links through the injector, for tests.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "comm/link.hpp"
#include "comm/poll.hpp"
#include "resilience/faults/fault_injector.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/link_error.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::resilience {

using comm::Endpoint;
using comm::error_of;
using comm::HostStream;
using comm::Link;
using comm::Stopwatch;
using comm::tensor_of;
using comm::TransferPtr;
using comm::World;
using kernels::Deadline;

inline constexpr comm::CommOptions kOptions{.deadline_s = 30};

inline LinkFault slow(double delay_s, std::int64_t from_step = 0) {
  LinkFault fault;
  fault.links = {{0, 1}};
  fault.delay_s = delay_s;
  fault.window.from_step = from_step;
  return fault;
}
inline LinkFault direct_down(std::int64_t from_step, std::int64_t to_step) {
  LinkFault fault = slow(0, from_step);
  fault.down_path = "direct";
  fault.window.to_step = to_step;
  return fault;
}

/// Runs `body(world, injector)` on every rank, the world wrapped.
inline void run_injected(int size, const std::vector<LinkFault>& faults,
                         const std::function<void(World&, FaultInjector&)>& body) {
  comm::run_ranks(size, kOptions.deadline_s, [&](World& world) {
    FaultInjector injector(faults);
    const auto wrapped = injector.wrap(world, kOptions);
    body(*wrapped, injector);
  });
}

inline std::vector<float> numbers(float value) { return std::vector<float>(3, value); }
inline Deadline soon() { return Deadline::after_s(30); }

inline bool says_down(const std::string& message) {
  return message.find("the direct path is down") != std::string::npos;
}

}  // namespace tenax::resilience
