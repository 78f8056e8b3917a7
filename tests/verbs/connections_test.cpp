// Connections over soft RDMA, between the two devices of a guest's first link: rxe_a0 and rxe_b0
// (guest_ports.hpp).
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/comm/transport/connection_checks.hpp"
#include "tests/comm/transport/strangers.hpp"
#include "tests/verbs/guest_ports.hpp"

namespace tenax::comm::verbs {
namespace {

void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

class SoftRdma : public ::testing::Test {
 protected:
  explicit SoftRdma(double silence_s = kPatience_s)
      : pair(transport_over("rxe_a0", silence_s), transport_over("rxe_b0", silence_s)) {}
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

/// Of this process, in KiB, without what the allocator keeps for later.
std::int64_t resident_kib() {
  malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  return 0;
}

/// Queue pairs, completion queues, registrations: what the kernel counts of all devices.
std::string rdma_resources() {
  run("rdma resource show > resources");
  std::ifstream file("resources");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// CONNECTIONS: how many (50).
TEST_F(SoftRdma, connections_leave_nothing_behind) {
  const char* wanted = std::getenv("CONNECTIONS");
  const int connections = wanted ? std::atoi(wanted) : 50;
  for (int i = 0; i < 10; ++i) pair.connect();
  const std::size_t descriptors = open_descriptors();
  const std::int64_t before_kib = resident_kib();
  const std::string resources = rdma_resources();
  for (int i = 0; i < connections; ++i) pair.connect();
  const std::int64_t left_kib = resident_kib() - before_kib;
  std::printf("%d connections left %lld KiB and %lld descriptors\n", connections,
              static_cast<long long>(left_kib),
              static_cast<long long>(open_descriptors()) - static_cast<long long>(descriptors));
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(rdma_resources(), resources);
  constexpr std::int64_t kOfOne_kib = 4096;
  EXPECT_LE(left_kib, 3 * kOfOne_kib) << "each connection has 4 MiB";
}

TEST_F(SoftRdma, refuses_another_jobs_secret) {
  expect_another_job_is_refused(pair, *transport_over("rxe_a0", kPatience_s, JobSecret::draw()));
}

TEST_F(SoftRdma, keeps_no_peer_out_for_2000_strangers) {
  const std::size_t before = open_descriptors();
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 2000; ++i) {
    strangers.push_back(connect_to_loopback(port_of(pair.peers[1].addresses[0])));
    ASSERT_TRUE(strangers.back());
    if (i % 2 == 1) say(strangers.back(), std::as_bytes(std::span("tenax 2\n half a word")));
  }
  pair.connect();
  send_messages(zero(), 1, 3);
  expect_messages(one(), 1, 3);
  EXPECT_LE(open_descriptors(), before + strangers.size() + 64);
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

/// What was under way when its sender gave up arrives three seconds later.
TEST_F(FailingSoftRdma, late_writes_reach_no_memory_that_was_given_back) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const std::vector<std::byte> nines(kBytes, std::byte{9});
  run("tc qdisc add dev a0 root netem delay 3s limit 100000");
  std::vector<std::byte> payload(kBytes, std::byte{1});
  const auto registration = pair.transports[0]->register_memory(payload);
  MessageHeader header;
  header.payload_bytes = payload.size();
  EXPECT_NE(error_of([&] { zero().send(header, payload, Deadline::after_s(60)); }), "no error");
  pair.ends[0].reset();
  pair.ends[1].reset();
  const std::vector<std::vector<std::byte>> reused(32, nines);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  run("tc qdisc del dev a0 root");
  const auto changed =
      std::count_if(reused.begin(), reused.end(), [&](const auto& bytes) { return bytes != nines; });
  std::printf("late writes changed %td of %zu MiB\n", changed, reused.size());
  EXPECT_EQ(changed, 0);
}

}  // namespace
}  // namespace tenax::comm::verbs
