// What a slow rank's event and line say of its device.
#include "app/training/fail_slow_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/training/mitigation_text.hpp"

namespace tenax::app {
namespace {

using nlohmann::json;
using resilience::Component;
using resilience::FailSlow;

class SlowRankText : public testing::Test {
 protected:
  static FailSlow found(const std::optional<resilience::Throttling>& throttling) {
    return {.cause = resilience::SlowCause::compute,
            .components = {{.rank = 1, .factor = 1.5, .throttling = throttling}},
            .reaction_s = 2};
  }
  static resilience::Throttling hot() {
    resilience::Throttling hot{.clock_mhz = 1200, .healthy_clock_mhz = 1755, .temperature_c = 87, .by = {}};
    hot.by.add(kernels::Throttle::hardware_thermal);
    hot.by.add(kernels::Throttle::hardware_slowdown);
    return hot;
  }
  json component_of(const FailSlow& event) const {
    return json::parse(text_.details(event).text()).at("components").at(0);
  }

  const parallel::ProcessGrid grid_{{.data = 2}};
  const FailSlowText text_{grid_, {{"red", "cuda 0"}, {"blue", "cuda 1"}}};
};

TEST_F(SlowRankText, names_throttling_as_the_reason_beside_what_it_always_said) {
  json component = component_of(found(hot()));
  EXPECT_EQ(component.at("reason"), "throttling");
  EXPECT_EQ(component.at("clock_mhz"), 1200);
  EXPECT_EQ(component.at("healthy_clock_mhz"), 1755);
  EXPECT_EQ(component.at("temperature_c"), 87);
  EXPECT_EQ(component.at("throttled_by"), (json{"hardware_thermal", "hardware_slowdown"}));
  for (const char* name : {"reason", "clock_mhz", "healthy_clock_mhz", "temperature_c", "throttled_by"})
    component.erase(name);
  EXPECT_EQ(component, component_of(found({})));
}

TEST_F(SlowRankText, says_it_in_a_sentence) {
  EXPECT_EQ(text_.line(7, found(hot())),
            "step 7: rank 1 (blue) is slow: 1.5 times as long (compute, throttled: 1200 MHz, healthy 1755 "
            "MHz, 87 °C, "
            "hardware_thermal, hardware_slowdown)");
  EXPECT_EQ(text_.line(7, found({})), "step 7: rank 1 (blue) is slow: 1.5 times as long (compute)");
}

TEST_F(SlowRankText, leaves_out_what_the_device_does_not_tell) {
  resilience::Throttling braked;
  braked.by.add(kernels::Throttle::power_brake);
  const json component = component_of(found(braked));
  EXPECT_EQ(component.at("throttled_by"), json{"power_brake"});
  EXPECT_FALSE(component.contains("clock_mhz") || component.contains("healthy_clock_mhz") ||
               component.contains("temperature_c"));
  EXPECT_TRUE(text_.line(7, found(braked)).ends_with("(compute, throttled: power_brake)"));
}

TEST_F(SlowRankText, tells_of_a_swap_where_the_rank_was_found) {
  const parallel::ProcessGrid stages({.pipeline = 2});
  const FailSlowText after(grid_, {{"red", "cpu"}, {"blue", "cpu"}});
  const resilience::MitigationRecord swap{
      .strategy = resilience::Strategy::swap,
      .components = found({}).components,
      .placement = {.microbatches = {}, .ring_order = {}, .group_of_place = {1, 0}}};
  const json component = json::parse(mitigation_details(swap, after, stages).text()).at("components").at(0);
  EXPECT_EQ(component.at("stage"), 1);
  EXPECT_EQ(component.at("data"), 0);
}

TEST_F(SlowRankText, does_not_repeat_it_when_the_rank_has_healed) {
  const json healed =
      json::parse(text_.details({.component = found(hot()).components[0], .slow_steps = 9}).text());
  EXPECT_EQ(healed.at("slow_steps"), 9);
  EXPECT_FALSE(healed.contains("reason"));
}

}  // namespace
}  // namespace tenax::app
