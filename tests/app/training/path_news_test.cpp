#include "app/training/path_news.hpp"

#include <gtest/gtest.h>

#include "tests/comm/thread_ranks.hpp"

namespace tenax::app {
namespace {

/// One rank, and what it writes: "step name details".
class PathNewsTest : public ::testing::Test {
 protected:
  std::vector<std::string> written_at(std::int64_t step) {
    std::vector<std::string> events;
    news_.write(*control_, step,
                [&](std::int64_t at, const std::string& name, const io::JsonObject& details) {
                  events.push_back(std::to_string(at) + " " + name + " " + details.text());
                });
    return events;
  }

  std::vector<std::unique_ptr<comm::World>> worlds_ = comm::create_thread_worlds(1, {});
  std::unique_ptr<comm::ControlGroup> control_ = worlds_.front()->control_group();
  PathNews news_{0, "hostA"};
};

TEST_F(PathNewsTest, become_events_with_the_contracts_details) {
  EXPECT_FALSE(news_.any());
  news_.take(comm::VerbsPortChange{"mlx5_0:1", "down", "is DOWN"});
  news_.take(comm::VerbsPortChange{"mlx5_0:1", "up", ""});
  EXPECT_TRUE(news_.any());
  const std::string port = R"(7 port {"rank": 0, "host": "hostA", "port": "mlx5_0:1", "state": )";
  EXPECT_EQ(written_at(7), (std::vector<std::string>{port + R"("down", "reason": "is DOWN"})",
                                                     port + R"("up", "reason": null})"}));
  EXPECT_FALSE(news_.any());
  EXPECT_TRUE(written_at(8).empty());
}

TEST_F(PathNewsTest, count_connections_that_took_one_way_for_one_reason) {
  const comm::Reroute first{
      .peer = 1, .from = "verbs a:1 - b:1", .to = "tcp", .reason = "no_answer", .seconds = 0.5, .resent = 3};
  comm::Reroute second = first, other = first;
  second.seconds = 0.75;
  second.resent = 1;
  other.reason = "port_down";
  for (const comm::Reroute& reroute : {first, second, other}) news_.take(reroute);
  const std::string way = R"(3 reroute {"ranks": [0, 1], "from": "verbs a:1 - b:1", "to": "tcp", )";
  EXPECT_EQ(written_at(3),
            (std::vector<std::string>{
                way + R"("reason": "no_answer", "seconds": 0.75, "resent": 4, "connections": 2})",
                way + R"("reason": "port_down", "seconds": 0.5, "resent": 3, "connections": 1})"}));
}

TEST(PathNewsOfOthers, that_are_garbled_end_with_an_error_which_says_so) {
  for (const auto& [line, sentence] :
       {std::pair("reroute\tone\t2\ta\tb\thealed\t0.5\t3\n", "a rank sent 'one' as its rank"),
        {"reroute\t1\t2\ta\tb\thealed\t0.5s\t3\n", "a rank sent '0.5s' as the seconds of a reroute"},
        {"reroute\t1\t2\ta\tb\thealed\n", "a rank sent '' as the seconds of a reroute"},
        {"port\n", "a rank sent '' as its rank"},
        {"\n", "a rank sent '' as its rank"}})
    comm::run_ranks(2, 20, [&](comm::World& world) {
      const auto control = world.control_group();
      if (world.rank() == 1) {
        control->all_gather(line);
        return;
      }
      try {
        PathNews(0, "hostA").write(*control, 1, [](auto&&...) {});
        ADD_FAILURE() << line;
      } catch (const kernels::Error& error) {
        EXPECT_NE(std::string(error.what()).find(sentence), std::string::npos) << error.what();
      }
    });
}

}  // namespace
}  // namespace tenax::app
