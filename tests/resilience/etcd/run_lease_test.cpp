#include "resilience/etcd/run_lease.hpp"

#include <gtest/gtest.h>

#include "tests/resilience/etcd/made_up_etcd.hpp"

namespace tenax::resilience::test {
namespace {

struct Supervisor {
  Supervisor(MadeUpEtcd& etcd, const std::string& id)
      : client({.endpoints = {"http://a:1"}, .user = {}, .password = {}}, etcd),
        lease({.keys = RunKeys("run"),
               .claim = {.host = "host-" + id,
                         .pid = 7,
                         .start_time = 70,
                         .machine = "m",
                         .run_directory = "/r",
                         .id = id}},
              client) {}
  EtcdClient client;
  RunLease lease;
};

TEST(RunLease, is_held_by_one) {
  MadeUpEtcd etcd;
  Supervisor first(etcd, "1"), second(etcd, "2");
  EXPECT_TRUE(first.lease.campaign());
  EXPECT_FALSE(second.lease.campaign());
  const auto view = second.lease.look();
  ASSERT_TRUE(view.leader);
  EXPECT_EQ(view.leader->host, "host-1");
  EXPECT_EQ(view.leader->pid, 7);
  EXPECT_TRUE(first.lease.keep());
}

TEST(RunLease, goes_to_another_when_it_has_ended_and_the_old_one_can_write_no_more) {
  MadeUpEtcd etcd;
  Supervisor first(etcd, "1"), second(etcd, "2");
  first.lease.campaign();
  etcd.end_leases();
  EXPECT_FALSE(first.lease.keep());
  EXPECT_TRUE(second.lease.campaign());
  EXPECT_FALSE(
      first.client.commit({.conditions = {first.lease.condition()}, .puts = {{.key = "k", .value = "v"}}}));
  EXPECT_FALSE(first.lease.campaign());
  EXPECT_TRUE(
      second.client.commit({.conditions = {second.lease.condition()}, .puts = {{.key = "k", .value = "v"}}}));
}

TEST(RunLease, of_one_that_is_known_to_be_dead_is_taken_away_and_of_no_other) {
  MadeUpEtcd etcd;
  Supervisor first(etcd, "1"), second(etcd, "2");
  first.lease.campaign();
  const auto view = second.lease.look();
  second.lease.depose(view.term + 1);
  EXPECT_FALSE(second.lease.campaign()) << "another's term";
  second.lease.depose(view.term);
  EXPECT_FALSE(second.lease.look().leader);
  EXPECT_TRUE(second.lease.campaign());
  EXPECT_FALSE(first.client.commit({.conditions = {first.lease.condition()}}));
  second.lease.depose(view.term);
  EXPECT_TRUE(second.client.commit({.conditions = {second.lease.condition()}}));
}

TEST(RunLease, tells_which_process_is_in_charge) {
  const Claim claim{
      .host = "h", .pid = 7, .start_time = 99, .machine = "m", .run_directory = "/r", .id = "1"};
  const Claim read = Claim::parse(claim.text());
  EXPECT_EQ(read.start_time, 99);
  EXPECT_EQ(read.machine, "m");
  EXPECT_EQ(Claim::parse("{}").machine, "");
}

TEST(RunLease, is_held_though_the_reply_that_says_so_was_lost) {
  MadeUpEtcd etcd;
  EtcdClient client({.endpoints = {"http://a:1", "http://b:2"}, .user = {}, .password = {}}, etcd);
  RunLease lease(
      {.keys = RunKeys("run"),
       .claim = {.host = "h", .pid = 1, .start_time = 1, .machine = "m", .run_directory = "/r", .id = "1"}},
      client);
  etcd.lost_replies["/v3/kv/txn"] = 1;
  EXPECT_TRUE(lease.campaign());
  EXPECT_TRUE(client.commit({.conditions = {lease.condition()}}));
}

TEST(RunLease, that_is_given_back_tells_others_how_the_run_ended) {
  MadeUpEtcd etcd;
  Supervisor first(etcd, "1"), second(etcd, "2");
  first.lease.campaign();
  first.lease.release({.host = "host-1", .reason = "signal", .status = 0});
  const auto view = second.lease.look();
  EXPECT_FALSE(view.leader);
  ASSERT_TRUE(view.end);
  EXPECT_EQ(view.end->reason, "signal");
  EXPECT_TRUE(second.lease.campaign());
  EXPECT_FALSE(etcd.pairs.contains("run/end"));
}

}  // namespace
}  // namespace tenax::resilience::test
