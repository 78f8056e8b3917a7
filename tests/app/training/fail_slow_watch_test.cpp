// What a rank's device tells of itself comes to those who look for what is slow.
#include "app/training/fail_slow_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "app/options.hpp"
#include "kernels/emulated_device.hpp"
#include "kernels/forwarding_device.hpp"
#include "parallel/replica/emulated_replica.hpp"
#include "tests/app/small_deck.hpp"

namespace tenax::app {
namespace {

constexpr double kHealthy_s = 0.1, kSlow_s = 0.2;

/// Tells a clock, where it tells anything, and that it is throttled where the clock is low.
class HotDevice final : public kernels::ForwardingDevice<kernels::Device> {
 public:
  explicit HotDevice(bool tells) : ForwardingDevice(kernels::create_cpu_device()), tells_(tells) {}
  kernels::DeviceKind kind() const override { return kernels::DeviceKind::cuda; }
  kernels::Kernels& kernels() override { return inner().kernels(); }
  std::optional<kernels::DeviceReading> reading() override {
    if (!tells_) return std::nullopt;
    kernels::DeviceReading reading{.sm_clock_mhz = is_hot ? 900.0 : 1800.0, .throttled_by = {}};
    if (is_hot) reading.throttled_by.add(kernels::Throttle::hardware_thermal);
    ++readings;
    return reading;
  }

  std::atomic<bool> is_hot = false;
  std::atomic<int> readings = 0;

 private:
  const bool tells_;
};

io::Deck emulated_deck() {
  io::Deck deck = small_deck(1, 1, 1);
  deck.device.kind = io::DeviceKind::emulated;
  return deck;
}

/// A run on one rank whose times are made up.
class WatchedRun {
 public:
  explicit WatchedRun(bool tells) : device_(tells), tells_(tells) {}

  /// Steps until something is found to be slow: what is told then; empty where nothing is.
  std::string find() {
    constexpr int kHealthySteps = 60, kMostSteps = 300;
    for (int i = 0; i < kMostSteps && found_.empty(); ++i) {
      device_.is_hot = i >= kHealthySteps;
      step(device_.is_hot ? kSlow_s : kHealthy_s);
    }
    return found_;
  }

 private:
  void step(double seconds) {
    observe(seconds);
    StepVote vote;
    vote.order = watch_.order();
    watch_.agree(step_, vote);
    io::TrainingMetrics metrics;
    metrics.step = step_++;
    metrics.iteration_seconds = seconds;
    watch_.finish(metrics, {.begin_s = now_s_ - seconds});
  }
  // The device tells of itself on a thread of its own.
  void observe(double seconds) {
    observation_.begin_step(step_, false);
    const int readings = device_.readings;
    observation_.read_device();
    while (tells_ && device_.readings == readings) std::this_thread::yield();
    watch_.observer()->on_pass({{}, now_s_, now_s_ + seconds});
    now_s_ += seconds;
  }
  FailSlowWatch::Parts parts() {
    return {.deck = deck_,
            .replica = replica_,
            .context = context_,
            .device = device_,
            .observation = observation_,
            .probe = &probe_,
            .write = [this](std::int64_t, const std::string& name,
                            const io::JsonObject& details) { write(name, details); },
            .console = console_,
            .place = {.host = "here", .device = "cuda"},
            .judges_times = true,
            .told = {}};
  }
  void write(const std::string& name, const io::JsonObject& details) {
    if (name == "fail_slow") found_ = details.text();
  }

  HotDevice device_;
  const bool tells_;
  const io::Deck deck_ = emulated_deck();
  const parallel::Layout layout_ = plan_layout(deck_, 0, std::size_t{0});
  const std::vector<std::unique_ptr<comm::World>> worlds_ = comm::create_thread_worlds(1, {60});
  const std::unique_ptr<kernels::EmulatedDevice> emulated_ = kernels::create_emulated_device({});
  const std::vector<comm::Peer> nobody_;
  const parallel::PipelineContext context_{
      .options = pipeline_options(deck_), .world = *worlds_.front(), .device = *emulated_, .peers = nobody_};
  parallel::EmulatedReplica replica_{
      layout_, parallel::ProcessGrid(layout_.grid), context_, *emulated_, {.load = emulated_load(deck_)}};
  resilience::DeviceProbe probe_{*emulated_};
  Console console_{false};
  StepObservation observation_{deck_, replica_, nullptr, device_};
  std::string found_;
  double now_s_ = 0;
  std::int64_t step_ = 0;
  FailSlowWatch watch_{parts()};
};

TEST(FailSlowWatch, names_throttling_by_what_the_device_told_in_slow_steps_and_in_healthy_ones) {
  const std::string found = WatchedRun(true).find();
  for (const std::string detail :
       {R"("cause": "compute", "reason": "throttling")", R"("clock_mhz": 900, "healthy_clock_mhz": 1800)",
        R"("throttled_by": ["hardware_thermal"])"})
    EXPECT_NE(found.find(detail), std::string::npos) << detail << " is not in: " << found;
}

TEST(FailSlowWatch, of_a_device_that_tells_nothing_names_the_cause_alone) {
  const std::string found = WatchedRun(false).find();
  EXPECT_NE(found.find(R"("cause": "compute")"), std::string::npos) << found;
  EXPECT_EQ(found.find("throttl"), std::string::npos) << found;
}

}  // namespace
}  // namespace tenax::app
