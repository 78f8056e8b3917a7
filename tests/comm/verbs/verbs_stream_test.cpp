// Connections over RDMA as streams of bytes, on fake devices.
#include "tests/comm/transport/stream_checks.hpp"
#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm::verbs {
namespace {

class VerbsStreams : public VerbsTest {
 protected:
  explicit VerbsStreams(double silence_s = kPatience_s) : VerbsTest(silence_s) { pair().connect(); }
  PolledStream& end(std::size_t index) { return *pair().ends[index]->stream(); }
};

/// One way from registered memory, the other way from other.
TEST_F(VerbsStreams, carry_bytes_both_ways_and_wake_who_sleeps) {
  std::mt19937 random(1);
  std::vector<std::byte> there = random_bytes(random, 20000001);
  const auto registration = pair().transports[0]->register_memory(there);
  expect_bytes_both_ways(end(0), end(1), there, random_bytes(random, 7000003));
}

TEST_F(VerbsStreams, let_a_thread_sleep_until_something_comes) {
  expect_sleep_until_something_comes(end(0), end(1));
}

TEST_F(VerbsStreams, can_be_read_to_the_last_byte_once_the_other_end_has_left) {
  expect_last_bytes(pair(), false);
}

TEST_F(VerbsStreams, can_be_read_to_the_last_byte_once_the_other_end_has_finished) {
  expect_last_bytes(pair(), true);
}

TEST_F(VerbsStreams, send_registered_memory_from_where_it_lies_and_hold_it_until_it_has_arrived) {
  std::mt19937 random(2);
  std::vector<std::byte> bytes = random_bytes(random, 100000);
  auto registration = pair().transports[0]->register_memory(bytes);
  host.set_path("fake0", "fake1", {.delay_s = 0.2});
  ASSERT_EQ(end(0).write_some({}, bytes), bytes.size());
  const double begin_s = kernels::steady_now_s();
  std::thread other([&] { EXPECT_EQ(read_all(end(1), bytes.size()), bytes); });
  std::atomic<double> released_s = 0;
  std::thread releasing([&] {
    registration.reset();
    released_s = kernels::steady_now_s();
  });
  for (std::array<std::byte, 1> none; released_s == 0;) end(0).read_some(none);
  EXPECT_GE(released_s, begin_s + 0.2);
  releasing.join();
  other.join();
}

TEST_F(VerbsStreams, refuse_messages) {
  send(zero(), std::vector<std::byte>(100));
  expect_error_of_reading(end(1));
}

class VerbsStreamFaults : public VerbsStreams {
 protected:
  VerbsStreamFaults() : VerbsStreams(0.3) {}
};

TEST_F(VerbsStreamFaults, tell_both_ends_that_a_path_is_silent) {
  host.set_path("fake0", "fake1", {.is_lossy = true});
  write_all(end(0), std::vector<std::byte>(100));
  expect_error_of_reading(end(0));
  EXPECT_EQ(zero().break_reason(), "no_answer");
  expect_error_of_reading(end(1));
  EXPECT_EQ(one().break_reason(), "no_answer");
}

/// The device says nothing for an hour.
TEST_F(VerbsStreamFaults, find_by_their_own_clock_that_nothing_arrives) {
  host.set_path("fake0", "fake1", {.delay_s = 3600});
  write_all(end(0), std::vector<std::byte>(100));
  const std::string message = error_of([&] {
    std::array<std::byte, 1> none;
    for (int i = 0; i < 5000; ++i) {
      end(0).read_some(none);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_NE(message.find("the device does not say why"), std::string::npos) << message;
}

TEST_F(VerbsStreamFaults, fail_where_writing_fails_and_read_nothing_more_of_the_payload) {
  std::vector<std::byte> bytes(100000, std::byte{1});
  const auto registration = pair().transports[0]->register_memory(bytes);
  host.fail_next("fake0", IBV_WC_LOC_QP_OP_ERR);
  const std::string message = error_of([&] {
    for (int i = 0; i < 1000; ++i)
      if (end(0).write_some({}, bytes) == 0) sleeps(end(0), true, 20);
  });
  EXPECT_NE(message.find("the port carries nothing"), std::string::npos) << message;
  EXPECT_EQ(zero().break_reason(), "port_down");
  expect_error_of_reading(end(0));
  expect_error_of_reading(end(1));
  EXPECT_EQ(one().break_reason(), "peer_port_down");
}

TEST_F(VerbsStreams, wake_a_sleeper_when_they_are_shut_down) {
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    one().shut_down();
  });
  expect_error_of_reading(end(1));
  expect_error_of_reading(end(0));
  other.join();
}

}  // namespace
}  // namespace tenax::comm::verbs
