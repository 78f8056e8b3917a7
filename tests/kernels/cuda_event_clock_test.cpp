// The clock of CUDA's events, on a device of the host's making whose oscillator is far from the host's.
#include "kernels/cuda/event_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "kernels/cuda/check.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

struct CUevent_st {
  std::optional<double> passed_s;  // on the device's own clock
};

namespace {

struct FakeDevice {
  double rate = 1;       // of its clock
  bool is_busy = false;  // passes nothing
  double now_s() const { return rate * tenax::kernels::steady_now_s(); }
};
FakeDevice fake;

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->passed_s.reset();
  if (!fake.is_busy) event->passed_s = fake.now_s();
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return event->passed_s ? cudaSuccess : cudaErrorNotReady; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (!begin->passed_s || !end->passed_s) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(1e3 * (*end->passed_s - *begin->passed_s));
  return cudaSuccess;
}
void tenax::kernels::cuda::throw_cuda(cudaError_t status, const char* call) {
  throw Error(Scope::rank, call + std::to_string(status));
}

namespace tenax::kernels::cuda {
namespace {

constexpr double kSlack_s = 0.1;  // this machine may be busy

class EventClockOf : public testing::Test {
 protected:
  EventClockOf() { fake = {}; }
  double error_of_an_event_now(EventClock& clock) {
    const double now_s = steady_now_s();
    CUevent_st event{fake.now_s()};
    return clock.time_s(&event) - now_s;
  }
  static void pass(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }
};

TEST_F(EventClockOf, a_fresh_anchor_tells_the_hosts_time_whatever_the_devices_clock_says) {
  fake.rate = 3;
  EventClock clock;
  EXPECT_NEAR(error_of_an_event_now(clock), 0, kSlack_s);
}

TEST_F(EventClockOf, an_anchor_tells_the_time_of_earlier_events_too) {
  CUevent_st event{fake.now_s()};
  const double then_s = steady_now_s();
  pass(300);
  EventClock clock;
  EXPECT_NEAR(clock.time_s(&event), then_s, kSlack_s);
}

TEST_F(EventClockOf, an_old_anchor_is_replaced_before_errors_grow) {
  fake.rate = 3;
  EventClock renewing(0.01), keeping(1000);
  pass(500);
  EXPECT_NEAR(error_of_an_event_now(renewing), 0, kSlack_s);
  EXPECT_GT(error_of_an_event_now(keeping), 0.9) << "twice what has passed: the fake device is not too kind";
}

TEST_F(EventClockOf, a_busy_device_keeps_its_old_anchor) {
  EventClock clock(0.01);
  pass(50);
  fake.is_busy = true;
  EXPECT_NEAR(error_of_an_event_now(clock), 0, kSlack_s);
}

TEST_F(EventClockOf, a_device_that_never_answers_is_refused) {
  fake.is_busy = true;
  EXPECT_THROW(EventClock(1, 0.2), Error);
}

}  // namespace
}  // namespace tenax::kernels::cuda
