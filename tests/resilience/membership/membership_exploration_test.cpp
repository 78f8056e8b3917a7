// All that can happen to three replicas with a bounded number of faults, and seeded walks of four with many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/resilience/membership/membership_explorer.hpp"

namespace tenax::resilience {
namespace {

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

/// Goes on without faults until the next thing is of `kind`.
void go_on_to(MembershipWorld& world, WorldAction::Kind kind) {
  for (auto next = world.next(); next && next->kind != kind; next = world.next()) world.apply(*next);
}

/// Runs until its replicas train the first step, without faults.
MembershipWorld training(MembershipWorld::Options options) {
  MembershipWorld world(options);
  go_on_to(world, WorldAction::Kind::begin);
  return world;
}

void explore(const MembershipWorld& world, int faults) {
  MembershipExplorer explorer;
  explorer.explore(world, faults);
  EXPECT_EQ(explorer.violation(), "");
  std::cout << explorer.states() << " states, " << explorer.transitions() << " transitions, at most "
            << faults << " faults\n";
  testing::Test::RecordProperty("states", std::to_string(explorer.states()));
}

TEST(MembershipExploration, three_replicas_keep_every_promise_whatever_fails_in_a_step) {
  explore(training({.replicas = from_environment("TENAX_EXPLORE_REPLICAS", 3),
                    .train_steps = from_environment("TENAX_EXPLORE_STEPS", 1)}),
          from_environment("TENAX_EXPLORE_FAULTS", 1));
}

TEST(MembershipExploration, two_replicas_keep_every_promise_whatever_fails_in_two_steps) {
  explore(training({.replicas = 2, .train_steps = 2}), 1);
}

TEST(MembershipExploration, a_loss_is_survived_whatever_else_fails) {
  MembershipWorld world =
      training({.replicas = 2, .train_steps = from_environment("TENAX_EXPLORE_STEPS", 1)});
  world.apply({WorldAction::Kind::crash, 0});
  explore(world, 1);
}

TEST(MembershipExploration, a_replica_joins_whatever_fails) {
  MembershipWorld world =
      training({.replicas = 2, .train_steps = from_environment("TENAX_EXPLORE_STEPS", 2)});
  world.apply({WorldAction::Kind::crash, 0});
  go_on_to(world, WorldAction::Kind::connect);
  go_on_to(world, WorldAction::Kind::complete);  // held at the next step
  explore(world, 1);
}

TEST(MembershipExploration, a_run_begins_whatever_fails) {
  explore(MembershipWorld({.replicas = 2, .train_steps = 1, .all_orders = true}), 1);
}

/// Takes `steps` random actions, a fault now and then, then goes on without faults to the end.
class Walk {
 public:
  Walk(MembershipWorld world, std::uint64_t seed) : world_(std::move(world)), random_(seed) {}

  void wander(int steps, int faults, int rarity) {
    for (int i = 0; i < steps && !world_.is_over() && why_.empty(); ++i) {
      const std::vector<WorldAction> actions = world_.actions(), evils = world_.faults();
      const bool is_fault = actions.empty() || (faults > 0 && !evils.empty() &&
                                                random_() % static_cast<std::uint64_t>(rarity) == 0);
      faults -= is_fault;
      take(is_fault ? pick(evils) : pick(actions));
    }
  }
  void finish() {
    for (int i = 0; i < 2000 && why_.empty(); ++i) {
      const auto next = world_.next();
      const std::uint64_t state = world_.hash();
      if (!next) return;
      take(*next);
      if (world_.hash() == state) return;
    }
  }
  /// What was wrong, and the last actions before it; empty if nothing.
  std::string violation() const {
    const std::string why = why_.empty() && !world_.is_over() ? "the run does not come to its end" : why_;
    const std::size_t shown = std::min<std::size_t>(way_.size(), 1500);
    return why.empty() ? "" : why + ", after:" + way_.substr(way_.size() - shown);
  }

 private:
  WorldAction pick(const std::vector<WorldAction>& from) { return from[random_() % from.size()]; }
  void take(WorldAction action) {
    world_.apply(action);
    const std::string text = to_string(action);
    if (!way_.ends_with(text)) way_ += text;
    why_ = world_.violation();
  }

  MembershipWorld world_;
  std::mt19937_64 random_;
  std::string why_, way_;
};

TEST(MembershipExploration, up_to_four_replicas_keep_every_promise_on_random_walks_with_many_faults) {
  const int first = from_environment("TENAX_EXPLORE_SEED", 1);
  const int walks = from_environment("TENAX_EXPLORE_WALKS", 4000);
  for (int seed = first; seed < first + walks; ++seed) {
    const MembershipWorld::Options options{.replicas = seed % 8 < 5 ? 4 : 2 + seed % 2,
                                           .min_replicas = 1 + seed % 3 / 2,
                                           .train_steps = 6,
                                           .batch = seed % 3 == 0 ? BatchRule::shrink : BatchRule::keep,
                                           .all_orders = seed % 4 != 0,
                                           .through_text = seed % 5 == 0,
                                           .saves_between = seed % 2 == 0,
                                           .leaves = seed % 7 < 3};
    Walk walk(MembershipWorld(options), static_cast<std::uint64_t>(seed));
    walk.wander(600, seed % 12, 6 + seed % 7 * 5);
    walk.finish();
    ASSERT_EQ(walk.violation(), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace tenax::resilience
