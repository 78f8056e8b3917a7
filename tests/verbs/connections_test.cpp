// Connections over soft RDMA, between the two devices of a guest's first link (guest_main.sh): rxe_a0 on the interface a0
// and rxe_b0 on b0, which a cable joins.
#include <cstdlib>
#include <filesystem>

#include "comm/verbs/ports.hpp"
#include "tests/comm/transport/connection_checks.hpp"
#include "tests/comm/verbs/verbs_transport.hpp"

namespace tenax::comm::verbs {
namespace {

VerbsOptions options_of(const std::string& device, double silence_s) {
  VerbsOptions options;
  options.ports = [device] {
    return std::vector<Port>{
        Ports({.patterns = {{device}}, .interfaces = {}}, std::nullopt).chosen().front().port};
  };
  options.path.silence_s = silence_s;
  return options;
}

void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

class SoftRdma : public ::testing::Test {
 protected:
  explicit SoftRdma(double silence_s = kPatience_s)
      : pair(verbs_transport(options_of("rxe_a0", silence_s)),
             verbs_transport(options_of("rxe_b0", silence_s))) {}
  void SetUp() override { pair.connect(); }
  Connection& zero() { return *pair.ends[0]; }
  Connection& one() { return *pair.ends[1]; }

  ConnectedPair pair;
};

TEST_F(SoftRdma, carries_messages_both_ways_at_once) { expect_equal_bytes_both_ways(pair, 120); }
TEST_F(SoftRdma, a_receive_ends_at_its_deadline_and_the_connection_stays) {
  expect_receive_ends_at_its_deadline(pair);
}
TEST_F(SoftRdma, a_send_that_nobody_takes_ends_at_its_deadline) { expect_send_ends_at_its_deadline(pair); }
TEST_F(SoftRdma, shutting_down_wakes_both_ends) { expect_shutdown_wakes_both_ends(pair); }
TEST_F(SoftRdma, what_was_sent_before_the_end_arrives) { expect_last_words_arrive(pair); }
TEST_F(SoftRdma, tells_connections_apart_by_purpose) { expect_connections_are_told_apart(pair); }
TEST_F(SoftRdma, refuses_strangers) { expect_strangers_are_refused(pair); }

TEST_F(SoftRdma, a_payload_may_change_when_its_send_has_returned) {
  std::mt19937 random(1);
  std::vector<std::byte> payload = random_bytes(random, 2000000);
  const auto registration = pair.transports[0]->register_memory(payload);
  const std::vector<std::byte> before = payload;
  std::thread sender([&] {
    MessageHeader header;
    header.payload_bytes = payload.size();
    zero().send(header, payload, Deadline::after_s(60));
    std::fill(payload.begin(), payload.end(), std::byte{7});
  });
  const auto header = one().receive(Deadline::after_s(60));
  std::vector<std::byte> received(header->payload_bytes);
  one().receive_payload(received, Deadline::after_s(60));
  sender.join();
  EXPECT_EQ(received, before);
}

int open_descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

TEST_F(SoftRdma, connections_leave_no_descriptor_behind) {
  const int before = open_descriptors();
  for (int i = 0; i < 50; ++i) pair.connect();
  EXPECT_EQ(open_descriptors(), before);
}

class FailingSoftRdma : public SoftRdma {
 protected:
  FailingSoftRdma() : SoftRdma(0.5) {}
};

TEST_F(FailingSoftRdma, the_own_link_down_breaks_the_connection) {
  run("ip link set a0 down");
  const std::string message = error_of([&] { send_messages(zero(), 1, 100); });
  EXPECT_NE(message.find("verbs rxe_a0:1 - rxe_b0:1: "), std::string::npos) << message;
  run("ip link set a0 up && ip neighbour replace 10.77.0.2 lladdr $(cat /sys/class/net/b0/address) nud "
      "permanent dev a0");
}

TEST_F(FailingSoftRdma, a_path_that_loses_all_is_given_up) {
  run("tc qdisc add dev a0 root netem loss 100%");
  std::vector<std::byte> payload(100000);
  const auto registration = pair.transports[0]->register_memory(payload);
  MessageHeader header;
  header.payload_bytes = payload.size();
  const std::string message = error_of([&] { zero().send(header, payload, Deadline::after_s(60)); });
  run("tc qdisc del dev a0 root");
  EXPECT_NE(message.find("nothing sent this way is acknowledged"), std::string::npos) << message;
}

}  // namespace
}  // namespace tenax::comm::verbs
