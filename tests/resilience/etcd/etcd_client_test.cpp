#include "resilience/etcd/etcd_client.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/resilience/etcd/made_up_etcd.hpp"

namespace tenax::resilience::test {
namespace {

using kernels::Error;
using kernels::Scope;

const std::vector<std::string> kThree = {"http://a:1", "http://b:2", "http://c:3"};

TEST(EtcdTransactions, are_written_as_the_gateway_reads_them) {
  EXPECT_EQ(request_of({.conditions = {{.key = "foo", .value = "bar", .create_revision = 7}},
                        .puts = {{.key = "foo", .value = "", .lease = 123456789012345678}},
                        .deletes = {"bar"},
                        .deletes_prefixes = {"foo"}}),
            R"({"compare": [{"key": "Zm9v", "target": "VALUE", "result": "EQUAL", "value": "YmFy"}, )"
            R"({"key": "Zm9v", "target": "CREATE", "result": "EQUAL", "createRevision": "7"}], )"
            R"("success": [{"requestPut": {"key": "Zm9v", "value": "", "lease": "123456789012345678"}}, )"
            R"({"requestDeleteRange": {"key": "YmFy"}}, )"
            R"({"requestDeleteRange": {"key": "Zm9v", "rangeEnd": "Zm9w"}}]})");
}

TEST(EtcdClient, does_all_of_a_transaction_or_nothing) {
  MadeUpEtcd etcd;
  EtcdClient client({.endpoints = kThree, .user = {}, .password = {}}, etcd);
  EXPECT_TRUE(client.commit(
      {.conditions = {{.key = "k", .create_revision = 0}}, .puts = {{.key = "k", .value = "1"}}}));
  EXPECT_FALSE(client.commit(
      {.conditions = {{.key = "k", .create_revision = 0}}, .puts = {{.key = "k", .value = "2"}}}));
  EXPECT_TRUE(
      client.commit({.conditions = {{.key = "k", .value = "1"}}, .puts = {{.key = "k/2", .value = "\xff"}}}));
  const auto all = client.read("k", true);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].value + all[1].value, "1\xff");
  EXPECT_EQ(client.read("k", false).size(), 1u);
}

TEST(EtcdClient, asks_the_next_member_where_one_is_dead_and_stays_with_it) {
  MadeUpEtcd etcd;
  etcd.dead = {"http://a:1", "http://b:2"};
  EtcdClient client({.endpoints = kThree, .user = {}, .password = {}}, etcd);
  client.read("k", false);
  EXPECT_EQ(etcd.calls.size(), 3u);
  client.read("k", false);
  EXPECT_EQ(etcd.calls.size(), 4u);
}

TEST(EtcdClient, says_of_none_that_answers_which_and_why) {
  MadeUpEtcd etcd;
  etcd.has_quorum = false;
  EtcdClient client({.endpoints = kThree, .user = {}, .password = {}}, etcd);
  try {
    client.grant_lease(5);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.scope(), Scope::link);
    EXPECT_STREQ(error.what(), "etcd at a:1, b:2, c:3 cannot be reached: http://c:3: etcdserver: no leader");
  }
}

TEST(EtcdClient, proves_who_it_is_and_again_when_its_token_has_ended) {
  MadeUpEtcd etcd;
  etcd.user = "tenax", etcd.password = "secret";
  EtcdClient client({.endpoints = kThree, .user = "tenax", .password = "secret"}, etcd);
  client.read("k", false);
  client.read("k", false);
  EXPECT_EQ(etcd.logins, 1);
  etcd.token = "another";
  client.read("k", false);
  EXPECT_EQ(etcd.logins, 2);
}

TEST(EtcdClient, is_refused_with_a_wrong_password_without_asking_other_members) {
  MadeUpEtcd etcd;
  etcd.user = "tenax", etcd.password = "secret";
  EtcdClient client({.endpoints = kThree, .user = "tenax", .password = "wrong"}, etcd);
  try {
    client.read("k", false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.scope(), Scope::job);
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("refuses user tenax"), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("wrong"), std::string::npos);
  }
  EXPECT_EQ(etcd.calls.size(), 1u);
}

TEST(EtcdClient, keeps_a_lease_until_it_has_ended) {
  MadeUpEtcd etcd;
  EtcdClient client({.endpoints = kThree, .user = {}, .password = {}}, etcd);
  const std::int64_t lease = client.grant_lease(5);
  EXPECT_TRUE(client.keep_lease(lease));
  etcd.end_leases();
  EXPECT_FALSE(client.keep_lease(lease));
}

}  // namespace
}  // namespace tenax::resilience::test
