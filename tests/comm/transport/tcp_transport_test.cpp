// Connections over TCP.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/transport/listening_interfaces.hpp"
#include "comm/transport/transports.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/comm/transport/connection_checks.hpp"

namespace tenax::comm {
namespace {

std::unique_ptr<Transport> tcp(const std::vector<std::string>& interfaces = {"lo"},
                               const JobSecret& secret = one_job()) {
  return create_transport(
      {.kind = TransportKind::tcp, .interfaces = interfaces, .deadline_s = 20, .secret = secret});
}

class TcpTransport : public ::testing::Test {
 protected:
  ConnectedPair pair{tcp(), tcp()};
};

TEST_F(TcpTransport, carries_messages_both_ways_at_once) {
  pair.connect();
  expect_equal_bytes_both_ways(pair, 300);
}
TEST_F(TcpTransport, a_receive_ends_at_its_deadline_and_the_connection_stays) {
  pair.connect();
  expect_receive_ends_at_its_deadline(pair);
}
TEST_F(TcpTransport, a_send_that_nobody_takes_ends_at_its_deadline) {
  pair.connect();
  expect_send_ends_at_its_deadline(pair);
}
TEST_F(TcpTransport, shutting_down_wakes_both_ends) {
  pair.connect();
  expect_shutdown_wakes_both_ends(pair);
}
TEST_F(TcpTransport, what_was_sent_before_the_end_arrives) {
  pair.connect();
  expect_last_words_arrive(pair);
}
TEST_F(TcpTransport, tells_connections_apart_by_purpose) { expect_connections_are_told_apart(pair); }
TEST_F(TcpTransport, refuses_a_header_that_no_end_sends) { expect_nonsense_is_refused(pair); }
TEST_F(TcpTransport, refuses_strangers) { expect_strangers_are_refused(pair); }
TEST_F(TcpTransport, refuses_another_jobs_secret) {
  expect_another_job_is_refused(pair, *tcp({"lo"}, JobSecret::draw()));
}

TEST_F(TcpTransport, is_not_held_up_by_a_stranger_who_says_nothing) {
  const std::string& address = pair.peers[1].addresses[0];  // "tcp:127.0.0.1:PORT#…"
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':', 4) + 1))));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int silent = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(silent, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
  pair.connect();
  send_messages(*pair.ends[0], 1, 3);
  expect_messages(*pair.ends[1], 1, 3);
  close(silent);
}

TEST_F(TcpTransport, says_where_nobody_answers) {
  pair.transports[1].reset();
  const std::string message = error_of([&] { pair.connect(); });
  EXPECT_NE(message.find("tcp:127.0.0.1:"), std::string::npos) << message;
  EXPECT_NE(message.find("rank 1 (here)"), std::string::npos) << message;
}

TEST(TcpAddresses, listens_on_every_interface_that_is_up_and_every_address_works) {
  ConnectedPair pair(tcp({}), tcp({}));
  const std::vector<NetworkAddress> all = network_addresses({});
  ASSERT_FALSE(all.empty());
  bool seen_loopback = false;
  for (const NetworkAddress& address : all) {
    EXPECT_TRUE(address.is_loopback || !seen_loopback) << "loopback comes last";
    seen_loopback = seen_loopback || address.is_loopback;
  }
  for (std::size_t i = 0; i < pair.peers[1].addresses.size(); ++i) {
    SCOPED_TRACE(pair.peers[1].addresses[i]);
    pair.connect(i);
    send_messages(*pair.ends[0], 1, 3);
    expect_messages(*pair.ends[1], 1, 3);
  }
}

TEST(TcpAddresses, an_interface_may_be_chosen_by_name_or_address) {
  for (const char* choice : {"lo", "127.0.0.1"})
    for (const std::string& address : tcp({choice})->addresses())
      EXPECT_TRUE(address.rfind("tcp:127.0.0.1:", 0) == 0 || address.rfind("tcp:[::1]:", 0) == 0) << address;
}

TEST(TcpAddresses, an_interface_that_is_not_there_is_named_with_those_that_are) {
  const std::string message = error_of([] { tcp({"ib7"}); }, kernels::Scope::rank);
  EXPECT_NE(message.find("'ib7'"), std::string::npos) << message;
  EXPECT_NE(message.find("lo (127.0.0.1)"), std::string::npos) << message;
}

TEST(Transports, ranks_learn_each_others_addresses_and_use_the_best) {
  run_ranks(3, 20, [](World& world) {
    const auto transport =
        create_transport({.kind = TransportKind::automatic, .interfaces = {"lo"}, .secret = one_job()});
    const auto control = world.control_group();
    const std::vector<Peer> peers = exchange_peers(*control, *transport, world.rank(), world.host());
    ASSERT_EQ(peers.size(), 3U);
    const auto me = static_cast<std::size_t>(world.rank());
    EXPECT_EQ(peers[me].addresses, transport->addresses());
    EXPECT_EQ(peers[me].name, "rank " + std::to_string(world.rank()) + " (" + world.host() + ")");
    EXPECT_EQ(peers[me].addresses[0].rfind("shm:", 0), 0U);
    const Deadline deadline = Deadline::after_s(20);
    const Peer &next = peers[(me + 1) % 3], &previous = peers[(me + 2) % 3];
    for (const std::string& address : {next.addresses.front(), next.addresses.back()}) {
      const auto out = transport->connect(next, address, "ring", deadline);
      const auto in = transport->accept(previous, "ring", deadline);
      send_messages(*out, static_cast<std::uint32_t>(world.rank()), 4);
      expect_messages(*in, static_cast<std::uint32_t>(previous.rank), 4);
      control->all_gather({});
    }
  });
}

TEST(Transports, addresses_that_mean_another_host_are_left_out) {
  run_ranks(2, 20, [](World& world) {
    const auto transport =
        create_transport({.kind = TransportKind::automatic, .interfaces = {"lo"}, .secret = one_job()});
    const auto control = world.control_group();
    const auto peers =
        exchange_peers(*control, *transport, world.rank(), "host" + std::to_string(world.rank()));
    for (const std::string& address : peers[static_cast<std::size_t>(1 - world.rank())].addresses)
      EXPECT_EQ(address.rfind("shm:", 0), 0U) << address;  // that one was tried, and this is one host
  });
}

}  // namespace
}  // namespace tenax::comm
