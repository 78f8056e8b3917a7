#include "comm/verbs/port_watch.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>

#include "comm/verbs/ports.hpp"
#include "kernels/deadline.hpp"
#include "tests/comm/verbs/fake_verbs.hpp"

namespace tenax::comm::verbs {
namespace {

using fake_verbs::FakePort;
using Kind = PortChange::Kind;

/// Two devices, the first of two ports, and what the watch tells of them.
class PortWatchTest : public testing::Test {
 protected:
  static constexpr double kLong_s = 20;  // a look by the clock never comes where this is the time between two

  PortWatchTest() {
    host_.add_device("fake0", {FakePort{}, FakePort{}});
    host_.add_device("fake1");
  }
  void watch(double looks_s, const VerbsPortOptions& options = {}) {
    watch_ = std::make_unique<PortWatch>(
        Ports(options, {}).chosen(), options,
        [this](const PortChange& change) {
          const std::lock_guard lock(mutex_);
          changes_.push_back(change);
          changed_.notify_all();
        },
        looks_s);
  }
  PortChange next() {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_until(lock, kernels::Deadline::after_s(kLong_s / 2).when(),
                                          [&] { return !changes_.empty(); });
    if (!came) throw std::runtime_error("nothing was told");
    const PortChange change = changes_.front();
    changes_.pop_front();
    return change;
  }
  void expect_next(Kind kind, const std::string& port, const std::string& obstacle) {
    const PortChange change = next();
    EXPECT_EQ(change.kind, kind);
    EXPECT_EQ(change.status.name, port);
    EXPECT_EQ(change.status.obstacle, obstacle);
  }
  void set_state(int port, ibv_port_state state) {
    FakePort changed = host_.port("fake0", port);
    changed.state = state;
    host_.set_port("fake0", port, changed);
  }
  /// Nothing more was told until then: what follows from an event of the other device has come.
  void expect_nothing_but_of_fake1() {
    FakePort down;
    down.state = IBV_PORT_DOWN;
    host_.set_port("fake1", 1, down);
    host_.raise("fake1", IBV_EVENT_PORT_ERR);
    expect_next(Kind::down, "fake1:1", "is DOWN");
  }

  fake_verbs::Host host_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PortChange> changes_;
  std::unique_ptr<PortWatch> watch_;  // ends first
};

TEST_F(PortWatchTest, tells_of_each_port_what_its_own_events_mean) {
  watch(kLong_s);
  set_state(2, IBV_PORT_DOWN);
  host_.raise("fake0", IBV_EVENT_PORT_ERR, 2);
  expect_next(Kind::down, "fake0:2", "is DOWN");
  set_state(2, IBV_PORT_ACTIVE);
  host_.raise("fake0", IBV_EVENT_PORT_ACTIVE, 2);
  expect_next(Kind::up, "fake0:2", "");
  expect_nothing_but_of_fake1();
}

TEST_F(PortWatchTest, believes_a_failure_though_the_port_still_says_active) {
  watch(kLong_s);
  host_.raise("fake0", IBV_EVENT_PORT_ERR, 1);
  expect_next(Kind::down, "fake0:1", "has failed");
  host_.raise("fake0", IBV_EVENT_PORT_ACTIVE, 1);
  expect_next(Kind::up, "fake0:1", "");
}

TEST_F(PortWatchTest, asks_for_the_address_anew_and_waits_for_it) {
  watch(kLong_s);
  FakePort port = host_.port("fake0", 1);
  const auto address = port.gids.back();
  port.gids.pop_back();  // link-local remains
  host_.set_port("fake0", 1, port);
  host_.raise("fake0", IBV_EVENT_GID_CHANGE, 1);
  expect_next(Kind::down, "fake0:1", "has no RoCE v2 address (an IP address that is not link-local)");
  host_.raise("fake0", IBV_EVENT_PORT_ACTIVE, 1);  // it is up, but not there yet
  port.gids.push_back({{}, IBV_GID_TYPE_ROCE_V2});
  port.gids.push_back(address);
  host_.set_port("fake0", 1, port);
  host_.raise("fake0", IBV_EVENT_GID_CHANGE, 1);
  const PortChange change = next();
  EXPECT_EQ(change.kind, Kind::up);
  EXPECT_EQ(change.status.port.gid_index, 2) << "not the row of before";
}

TEST_F(PortWatchTest, tells_an_address_that_changed_as_up_and_nothing_that_stayed) {
  watch(kLong_s);
  host_.raise("fake0", IBV_EVENT_GID_CHANGE, 1);
  host_.raise("fake0", IBV_EVENT_LID_CHANGE, 2);
  FakePort port = host_.port("fake0", 1);
  port.gids.back().bytes.back() = 9;
  host_.set_port("fake0", 1, port);
  host_.raise("fake0", IBV_EVENT_GID_CHANGE, 1);
  const PortChange change = next();
  EXPECT_EQ(change.kind, Kind::up);
  EXPECT_EQ(ip_text(change.status.port.gid), "127.0.0.9");
  expect_nothing_but_of_fake1();
}

TEST_F(PortWatchTest, loses_all_ports_of_a_device_that_goes_and_lets_it_go) {
  watch(kLong_s);
  host_.remove_device("fake0");
  for (const char* name : {"fake0:1", "fake0:2"}) {
    const PortChange change = next();
    EXPECT_EQ(change.kind, Kind::lost);
    EXPECT_EQ(change.status.name, name);
    EXPECT_EQ(change.status.port.device, nullptr);
  }
  EXPECT_EQ(host_.objects(), 2) << "the other device's context and its protection domain";
  expect_nothing_but_of_fake1();
}

TEST_F(PortWatchTest, finds_a_device_that_comes_back_as_another_one) {
  watch(0.02);
  host_.remove_device("fake0");
  next();
  next();
  FakePort down;
  down.state = IBV_PORT_DOWN;
  host_.add_device("fake0", {FakePort{}, down});
  const PortChange first = next();
  EXPECT_EQ(first.kind, Kind::found);
  EXPECT_EQ(first.status.name, "fake0:1");
  EXPECT_TRUE(first.status.is_usable());
  expect_next(Kind::found, "fake0:2", "is DOWN");
}

TEST_F(PortWatchTest, believes_a_queue_pair_until_the_next_look) {
  watch(0.05);
  watch_->report_failure("fake0:2");
  expect_next(Kind::down, "fake0:2", "has failed");
  expect_next(Kind::up, "fake0:2", "");
  watch_->report_failure("absent:1");
  expect_nothing_but_of_fake1();
}

TEST_F(PortWatchTest, watches_the_ports_that_are_wanted_and_no_other) {
  watch(0.02, {.patterns = {{"fake0", 2, -1}, {"fake1", 0, -1}}, .interfaces = {}});
  set_state(1, IBV_PORT_DOWN);
  host_.raise("fake0", IBV_EVENT_PORT_ERR, 1);
  expect_nothing_but_of_fake1();
  set_state(2, IBV_PORT_DOWN);
  expect_next(Kind::down, "fake0:2", "is DOWN");
}

TEST_F(PortWatchTest, looks_for_changes_that_no_event_tells) {
  watch(0.02);
  set_state(1, IBV_PORT_DOWN);
  expect_next(Kind::down, "fake0:1", "is DOWN");
  set_state(1, IBV_PORT_ACTIVE);
  expect_next(Kind::up, "fake0:1", "");
}

TEST_F(PortWatchTest, does_not_take_queue_pairs_events_for_ports) {
  watch(kLong_s);
  host_.raise("fake0", IBV_EVENT_QP_FATAL, 1);
  host_.raise("fake0", IBV_EVENT_CQ_ERR, 1);
  expect_nothing_but_of_fake1();
}

}  // namespace
}  // namespace tenax::comm::verbs
