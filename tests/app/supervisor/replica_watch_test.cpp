// What a supervisor tells of its replicas, beside what these tell of themselves.
#include "app/supervisor/replica_watch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/json_parse.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::app {
namespace {

using nlohmann::json;

const char* const kRankOne = R"({"kind": "rank", "rank": 1, "host": "a", "factor": 1.6})";

std::string fail_slow_of(const std::string& component) {
  return R"({"cause": "compute", "components": [)" + component + R"(], "known_by": "profile"})";
}

/// Three replicas whose steps take 0.1 s, and whose exchanges 0.02 s.
class ThreeReplicas : public testing::Test {
 protected:
  ThreeReplicas() {
    watch.take(resilience::EpochRecord{.members = {{{0, 1}, "a"}, {{1, 1}, "b"}, {{2, 1}, "c"}}});
  }

  void steps(int count) {
    for (int i = 0; i < count; ++i, ++now) {
      resilience::CommitRecord commit{.step = now, .iteration_s = iteration, .is_crowded = is_crowded};
      for (int replica = 0; replica < 3; ++replica) {
        const auto at = static_cast<std::size_t>(replica);
        commit.parts.push_back({replica, 4 * replica, 4});
        commit.members.push_back({replica, iteration_s[at], exchange_s[at]});
      }
      watch.take(commit);
    }
  }
  void observe(int replica, const std::string& event, const std::string& details) {
    watch.take(
        resilience::ReplicaObserved{.id = {replica, 1}, .observed = {.event = event, .details = details}});
  }
  /// Names of events, each with the replica that it is of, or those that the link joins.
  std::vector<std::string> told() const {
    std::vector<std::string> told;
    io::for_each_json_line(folder.path() / "events.jsonl", [&](const json& line) {
      const json part = line.contains("components") ? line["components"].at(0) : line;
      told.push_back(io::text_in(line, "event") + " " +
                     (part.contains("replicas") ? part["replicas"] : line["replica"]).dump());
    });
    return told;
  }

  std::vector<double> iteration_s{0.1, 0.1, 0.1}, exchange_s{0.02, 0.02, 0.02};
  io::test::TemporaryFolder folder;
  io::DetectSection section;
  Console console{false};
  SupervisorEvents events{folder.path().string(), console};
  ReplicaWatch watch{section, events, console};
  std::int64_t now = 0;
  double iteration = 0.12;  // with the exchange
  bool is_crowded = false;
};

TEST_F(ThreeReplicas, tell_of_themselves_what_the_supervisor_does_not_say_again) {
  observe(1, "fail_slow", fail_slow_of(kRankOne));
  iteration_s[1] = 0.2;
  steps(40);
  EXPECT_TRUE(told().empty());
}

TEST_F(ThreeReplicas, that_tell_a_part_twice_heal_of_it_once) {
  observe(1, "fail_slow", fail_slow_of(kRankOne));
  observe(1, "fail_slow", fail_slow_of(kRankOne));  // it has become slower
  observe(1, "healed", kRankOne);
  iteration_s[1] = 0.2;
  steps(40);
  EXPECT_EQ(told(), std::vector<std::string>{"fail_slow 1"});
}

TEST_F(ThreeReplicas, are_known_to_be_slow_until_all_their_parts_have_healed) {
  const std::string link = R"({"kind": "link", "ranks": [2, 1], "group": "data"})";
  observe(1, "fail_slow", fail_slow_of(kRankOne + (", " + link)));
  observe(1, "healed", R"({"kind": "link", "ranks": [1, 2], "group": "data", "factor": 1})");
  iteration_s[1] = 0.2;
  steps(40);
  EXPECT_TRUE(told().empty());
}

TEST_F(ThreeReplicas, tell_that_a_link_has_healed_while_its_end_was_slow) {
  exchange_s[1] = 0.1;  // from replica 1 to 2
  steps(40);
  observe(1, "fail_slow", fail_slow_of(kRankOne));
  steps(10);
  exchange_s[1] = 0.02;
  steps(10);
  EXPECT_EQ(told().size(), 1U);
  observe(1, "healed", kRankOne);
  steps(10);
  exchange_s[1] = 0.1;
  steps(40);
  EXPECT_EQ(told(), (std::vector<std::string>{"fail_slow [1,2]", "healed [1,2]", "fail_slow [1,2]"}));
}

TEST_F(ThreeReplicas, are_compared_by_their_own_times_however_long_the_exchange_takes) {
  iteration = 10;
  exchange_s[0] = 0.2;  // from replica 0 to 1, of the last chunks alone
  steps(40);
  iteration_s[2] = 0.2;
  steps(40);
  EXPECT_EQ(told(), (std::vector<std::string>{"fail_slow [0,1]", "fail_slow 2"}));
}

TEST_F(ThreeReplicas, that_share_cores_are_not_told_of_less_than_half_as_long_again) {
  is_crowded = true;
  iteration_s[1] = 0.14;
  steps(40);
  EXPECT_TRUE(told().empty());
  iteration_s[1] = 0.2;
  steps(40);
  EXPECT_EQ(told(), std::vector<std::string>{"fail_slow 1"});
}

TEST_F(ThreeReplicas, that_start_again_are_told_again) {
  iteration_s[1] = 0.2;
  steps(40);
  watch.take(resilience::EpochRecord{.members = {{{0, 1}, "a"}, {{1, 2}, "b"}, {{2, 1}, "c"}}});
  steps(40);
  EXPECT_EQ(told(), (std::vector<std::string>{"fail_slow 1", "fail_slow 1"}));
}

}  // namespace
}  // namespace tenax::app
