#include "resilience/adaptation/adaptation_decision.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "parallel/planner/baselines.hpp"

namespace tenax::resilience {
namespace {

TEST(AdaptationDecision, reads_back_equal) {
  AdaptationDecision decision;
  decision.schedule = parallel::plan_gpipe(2, 3);
  decision.costs = {{{0.1, 0.2, 1.0 / 3}, {4, 5, 6}}, {0.7}, 0.3};
  decision.links = {{true, 4}, {false, 1}};
  decision.predicted_s = 1.0 / 3;
  decision.events = {
      {.kind = AdaptationKind::straggler, .step = 12, .link = 2, .delay_s = 0.1, .before_s = 0.7},
      {.kind = AdaptationKind::delegate,
       .link = 1,
       .direct_messages = 7,
       .delegated_messages = 9,
       .hold_steps = 16}};
  decision.achieved = {
      {.kind = AdaptationKind::direct, .step = 3, .stage = 1, .predicted_s = 2e-9, .achieved_s = 1e300}};
  EXPECT_EQ(decision_of_text(to_text(decision)), decision);
  decision.schedule.reset();
  EXPECT_EQ(decision_of_text(to_text(decision)), decision) << "costs without a schedule";
  EXPECT_EQ(decision_of_text(to_text(AdaptationDecision{})), AdaptationDecision{});
}

TEST(AdaptationDecision, refuses_what_it_did_not_write) {
  for (const std::string text :
       {"nonsense", "predicted x", "link 1", "stage F", "stage X3", "passes 1 2", "delay", "wire x",
        "event straggler 1", "event dance 1 2 3 4 5 6 -", "predicted 1e"})
    EXPECT_THROW(decision_of_text(text), kernels::Error) << text;
}

}  // namespace
}  // namespace tenax::resilience
