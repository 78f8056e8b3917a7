#include "comm/verbs/ports.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/failure.hpp"
#include "comm/verbs/live_ports.hpp"

namespace tenax::comm::verbs {
namespace {

using Names = std::vector<PortName>;
const Names kThere = {{"mlx5_0", 1}, {"mlx5_1", 1}, {"mlx5_1", 2}};

std::string refusal(const Names& there, const VerbsPortPattern& pattern) {
  try {
    matching_ports(there, {pattern}, 0);
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.exit_status(), 1);
    return error.what();
  }
  return "";
}

std::string nearest_to(int node) {
  std::vector<PortStatus> ports;
  for (const auto& [name, of_node] : {std::pair("a", 0), {"b", 0}, {"c", 1}, {"d", 2}}) {
    ports.push_back({.name = name, .state = "ACTIVE", .port = {}, .obstacle = {}});
    ports.back().port.numa_node = of_node;
  }
  std::string names;
  for (const PortStatus& status : nearest_first(ports, node))
    names += status.name + (status.port.is_near ? "" : "*");
  return names;
}

TEST(NearestPorts, stand_before_far_ones_with_which_each_node_begins_elsewhere) {
  EXPECT_EQ(nearest_to(0), "abc*d*");
  EXPECT_EQ(nearest_to(1), "cd*a*b*");
  EXPECT_EQ(nearest_to(2), "da*b*c*");
  EXPECT_EQ(nearest_to(3), "abcd") << "no port is on that node";
}

TEST(MatchingPorts, are_all_without_patterns_and_else_in_the_patterns_order) {
  EXPECT_EQ(matching_ports(kThere, {}, 0), kThere);
  EXPECT_EQ(matching_ports(kThere, {{"mlx5_1", 0, -1}, {"mlx5_0", 0, -1}}, 0),
            (Names{{"mlx5_1", 1}, {"mlx5_1", 2}, {"mlx5_0", 1}}));
  EXPECT_EQ(matching_ports(kThere, {{"mlx5_1", 2, -1}}, 0), (Names{{"mlx5_1", 2}}));
  EXPECT_EQ(matching_ports(kThere, {{"mlx5_1", 2, -1}, {"mlx5_1", 0, -1}}, 0),
            (Names{{"mlx5_1", 2}, {"mlx5_1", 1}}))
      << "each once";
}

TEST(MatchingPorts, of_a_rank_leave_out_those_of_others) {
  const std::vector<VerbsPortPattern> patterns = {{"mlx5_0", 0, 0}, {"mlx5_1", 2, 1}, {"mlx5_1", 1, -1}};
  EXPECT_EQ(matching_ports(kThere, patterns, 0), (Names{{"mlx5_0", 1}, {"mlx5_1", 1}}));
  EXPECT_EQ(matching_ports(kThere, patterns, 1), (Names{{"mlx5_1", 2}, {"mlx5_1", 1}}));
  EXPECT_EQ(matching_ports(kThere, patterns, 2), (Names{{"mlx5_1", 1}}));
  EXPECT_EQ(matching_ports(kThere, patterns, std::nullopt),
            (Names{{"mlx5_0", 1}, {"mlx5_1", 2}, {"mlx5_1", 1}}));
}

TEST(MatchingPorts, that_are_not_there_are_refused_with_those_that_are) {
  const std::string host = this_host();
  EXPECT_EQ(refusal(kThere, {"mlx5_2", 0, -1}), "verbs.devices names mlx5_2, which " + host +
                                                    " does not have; there are mlx5_0:1, mlx5_1:1, mlx5_1:2");
  EXPECT_EQ(refusal({{"rxe0", 1}}, {"rxe0", 2, -1}),
            "verbs.devices names rxe0:2, which " + host + " does not have; there is rxe0:1");
  EXPECT_EQ(refusal({}, {"rxe0", 0, 5}), "verbs.devices names rxe0, which " + host +
                                             " does not have; there is no RDMA device (tenax ports)");
}

TEST(GidRules, allow_the_addresses_of_interfaces_that_are_up) {
  EXPECT_FALSE(gid_rules({}).addresses) << "any";
  EXPECT_EQ(gid_rules({.patterns = {}, .interfaces = {"lo"}, .gid_index = 3}).index, 3);
  const auto of_loopback = gid_rules({.patterns = {}, .interfaces = {"lo"}}).addresses.value();
  EXPECT_NE(std::find(of_loopback.begin(), of_loopback.end(), "127.0.0.1"), of_loopback.end());
  EXPECT_EQ(gid_rules({.patterns = {}, .interfaces = {"127.0.0.1"}}).addresses.value(),
            std::vector<std::string>{"127.0.0.1"});
  EXPECT_TRUE(gid_rules({.patterns = {}, .interfaces = {"absent0"}}).addresses.value().empty())
      << "an interface that is down now may come up";
}

TEST(Ports, have_the_speed_that_lanes_add_up_to) {
  EXPECT_EQ(link_gbps(1, 1), 2.5);
  EXPECT_EQ(link_gbps(2, 32), 100);
  EXPECT_EQ(link_gbps(2, 64), 200);
  EXPECT_EQ(link_gbps(2, 128), 400);
  EXPECT_EQ(link_gbps(16, 64), 100);
  EXPECT_EQ(link_gbps(3, 1), 0) << "not known";
  EXPECT_EQ(link_gbps(1, 0), 0);
}

TEST(LockedMemory, is_what_the_limit_says_to_who_may_not_exceed_it) {
  const pid_t child = fork();
  if (child == 0) {  // as a user without capabilities, and with a limit
    const rlimit limit{65536, 65536};
    const bool is_set = setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && (getuid() != 0 || setuid(65534) == 0);
    _exit(is_set && locked_memory_bytes() == 65536 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(LockedMemory, is_unlimited_to_root_whatever_the_limit) {
  if (getuid() != 0) GTEST_SKIP() << "not root";
  const rlimit before = [] {
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    return limit;
  }();
  const rlimit low{65536, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &low), 0);
  EXPECT_FALSE(locked_memory_bytes());
  setrlimit(RLIMIT_MEMLOCK, &before);
}

}  // namespace
}  // namespace tenax::comm::verbs
