#include "resilience/etcd/lease_keeper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "kernels/deadline.hpp"
#include "tests/resilience/etcd/made_up_etcd.hpp"

namespace tenax::resilience::test {
namespace {

class LeaseKeepers : public ::testing::Test {
 protected:
  /// A lease that long is kept by no thread within a test, but by check().
  static constexpr std::int64_t kLong_s = 3600;

  struct Supervisor {
    Supervisor(LeaseKeepers& test, const std::string& id, std::int64_t lease_s)
        : http(test.etcd_, test.mutex_),
          client({.endpoints = {"http://a:1"}, .user = {}, .password = {}}, http),
          lease({.keys = RunKeys("run"),
                 .claim = {.host = "h", .pid = 1, .run_directory = "/r", .id = id},
                 .lease_s = lease_s},
                client) {}
    SharedEtcd http;
    EtcdClient client;
    RunLease lease;
  };

  void end_leases() {
    const std::lock_guard lock(mutex_);
    etcd_.end_leases();
  }
  bool has_been_kept_again() {
    const std::lock_guard lock(mutex_);
    return std::count(etcd_.calls.begin(), etcd_.calls.end(), "http://a:1/v3/lease/keepalive") > 1;
  }

  MadeUpEtcd etcd_;
  std::mutex mutex_;
};

TEST_F(LeaseKeepers, keep_it_while_its_holder_does_something_else) {
  Supervisor only(*this, "1", 1);
  ASSERT_TRUE(only.lease.campaign());
  const LeaseKeeper keeper(only.lease);
  const auto deadline = kernels::Deadline::after_s(20);
  while (!has_been_kept_again()) {
    ASSERT_FALSE(deadline.expired());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST_F(LeaseKeepers, take_charge_again_while_nobody_else_has) {
  Supervisor only(*this, "1", kLong_s);
  ASSERT_TRUE(only.lease.campaign());
  {
    LeaseKeeper keeper(only.lease);
    end_leases();
    EXPECT_NO_THROW(keeper.check());
  }
  EXPECT_TRUE(only.client.commit({.conditions = {only.lease.condition()}}));
}

TEST_F(LeaseKeepers, tell_that_another_is_in_charge) {
  Supervisor first(*this, "1", kLong_s), second(*this, "2", kLong_s);
  ASSERT_TRUE(first.lease.campaign());
  LeaseKeeper keeper(first.lease);
  EXPECT_NO_THROW(keeper.check());
  end_leases();
  ASSERT_TRUE(second.lease.campaign());
  EXPECT_THROW(keeper.check(), kernels::Error);
  second.lease.release({.host = "h", .reason = "signal", .status = 0});
  EXPECT_THROW(keeper.check(), kernels::Error) << "it may have changed everything";
}

TEST_F(LeaseKeepers, go_on_where_etcd_does_not_answer_for_a_while) {
  Supervisor only(*this, "1", kLong_s);
  ASSERT_TRUE(only.lease.campaign());
  LeaseKeeper keeper(only.lease);
  only.http.is_cut = true;
  EXPECT_THROW(keeper.check(), kernels::Error);
  only.http.is_cut = false;
  EXPECT_NO_THROW(keeper.check());
}

}  // namespace
}  // namespace tenax::resilience::test
