// Connections over RDMA, on fake devices.
#include <sys/socket.h>

#include <filesystem>

#include "comm/polled_stream.hpp"
#include "comm/verbs/port_query.hpp"
#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm::verbs {
namespace {

using VerbsTransport = VerbsTest;

TEST_F(VerbsTransport, carries_messages_both_ways_at_once) {
  pair().connect();
  expect_equal_bytes_both_ways(pair(), 300);
}
TEST_F(VerbsTransport, a_receive_ends_at_its_deadline_and_the_connection_stays) {
  pair().connect();
  expect_receive_ends_at_its_deadline(pair());
}
TEST_F(VerbsTransport, a_send_that_nobody_takes_ends_at_its_deadline) {
  pair().connect();
  expect_send_ends_at_its_deadline(pair());
}
TEST_F(VerbsTransport, shutting_down_wakes_both_ends) {
  pair().connect();
  expect_shutdown_wakes_both_ends(pair());
}
TEST_F(VerbsTransport, what_was_sent_before_the_end_arrives) {
  pair().connect();
  expect_last_words_arrive(pair());
}
TEST_F(VerbsTransport, what_was_sent_before_the_end_arrives_late) {
  pair().connect();
  host.set_path("fake0", "fake1", {.delay_s = 0.1});
  expect_last_words_arrive(pair());
}
TEST_F(VerbsTransport, tells_connections_apart_by_purpose) { expect_connections_are_told_apart(pair()); }
TEST_F(VerbsTransport, refuses_a_header_that_no_end_sends) { expect_nonsense_is_refused(pair()); }
TEST_F(VerbsTransport, refuses_strangers) { expect_strangers_are_refused(pair()); }
TEST_F(VerbsTransport, refuses_another_jobs_secret) {
  expect_another_job_is_refused(pair(), *verbs_transport(options_of("fake0"), JobSecret::draw()));
}

TEST_F(VerbsTransport, names_the_ports_at_both_ends) {
  pair().connect();
  EXPECT_EQ(zero().describe(), "verbs fake0:1 - fake1:1");
  EXPECT_EQ(one().describe(), "verbs fake1:1 - fake0:1");
}

/// The fake reads what is sent when it arrives.
TEST_F(VerbsTransport, a_payload_may_change_when_its_send_has_returned) {
  pair().connect();
  host.set_path("fake0", "fake1", {.delay_s = 0.05});
  std::mt19937 random(1);
  for (const bool is_registered : {false, true}) {
    std::vector<std::byte> payload = random_bytes(random, 400000);
    const std::vector<std::byte> before = payload;
    const auto registration = is_registered ? pair().transports[0]->register_memory(payload) : nullptr;
    send(zero(), payload);
    std::fill(payload.begin(), payload.end(), std::byte{7});
    EXPECT_EQ(receive(one()), before) << is_registered;
  }
}

/// A ring of 64 KiB: each message is many frames, and ends anywhere in it.
TEST_F(VerbsTransport, messages_larger_than_the_ring_go_round_it) {
  VerbsOptions options = options_of("fake0");
  options.ring_bytes = 65536;
  ConnectedPair small(verbs_transport(options), verbs_transport(options_of("fake1")));
  small.connect();
  expect_equal_bytes_both_ways(small, 120);
}

/// Less than the silence.
TEST_F(VerbsTransport, a_short_loss_costs_nothing_but_its_time) {
  pair().connect();
  host.set_path("fake0", "fake1", {.is_lossy = true});
  std::thread healer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    host.set_path("fake0", "fake1", {});
  });
  send_messages(zero(), 1, 20);
  expect_messages(one(), 1, 20);
  healer.join();
}

TEST_F(VerbsTransport, registered_and_other_payload_mix) {
  pair().connect();
  std::mt19937 random(2);
  std::vector<std::byte> memory = random_bytes(random, 300000);
  const auto registration = pair().transports[0]->register_memory(memory);
  std::vector<std::vector<std::byte>> sent;
  std::thread sender([&] {
    for (int i = 0; i < 200; ++i) {
      const std::size_t begin = random() % memory.size(), bytes = random() % (memory.size() - begin);
      const auto part = std::span(memory).subspan(begin, bytes);
      if (sent.emplace_back(part.begin(), part.end()); i % 3 == 0)
        send(zero(), sent.back());
      else
        send(zero(), part);
    }
  });
  std::vector<std::vector<std::byte>> received;
  for (int i = 0; i < 200; ++i) received.push_back(receive(one()));
  sender.join();
  EXPECT_EQ(received, sent);
}

int open_descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

TEST_F(VerbsTransport, connections_leave_nothing_behind) {
  pair();
  const int objects = host.objects(), descriptors = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    pair().connect();
    send_messages(zero(), 1, 2);
    expect_messages(one(), 1, 2);
    for (auto& end : pair().ends) end.reset();
  }
  EXPECT_EQ(host.objects(), objects);
  EXPECT_EQ(open_descriptors(), descriptors);
}

// A host that loses power says nothing: what it had made would wait to be accepted for ever.
TEST_F(VerbsTransport, the_socket_of_a_connection_asks_for_the_other_ends_host_until_it_is_used) {
  pair().connect();
  const auto asks = [](Connection& end) {
    int does = -1;
    socklen_t bytes = sizeof does;
    getsockopt(end.stream()->socket(), SOL_SOCKET, SO_KEEPALIVE, &does, &bytes);
    return does;
  };
  EXPECT_EQ(asks(zero()), 1);
  EXPECT_EQ(asks(one()), 1);
  send_messages(zero(), 1, 2);
  expect_messages(one(), 1, 2);
  EXPECT_EQ(asks(zero()), 0) << "RDMA may go on where TCP cannot";
  EXPECT_EQ(asks(one()), 0);
}

/// Of device "two".
VerbsOptions options_of_two_ports(fake_verbs::Host& host) {
  host.add_device("two", {fake_verbs::FakePort{}, fake_verbs::FakePort{}});
  VerbsOptions options = options_of("two");
  options.ports = [] {
    const auto device = Device::open("two");
    return std::vector<Port>{fake_port(device, 1), fake_port(device, 2)};
  };
  return options;
}

/// As a rank has it: the port is asked.
VerbsOptions options_as_asked(const std::string& device) {
  VerbsOptions options = options_of(device);
  options.ports = [device] { return std::vector<Port>{query_port(Device::open(device), 1, {}).port}; };
  return options;
}

/// Virtual functions share a LID.
TEST_F(VerbsTransport, packets_of_infiniband_carry_gids_where_either_end_needs_them) {
  fake_verbs::FakePort plain;
  plain.link_layer = IBV_LINK_LAYER_INFINIBAND;
  fake_verbs::FakePort virtual_function = plain;
  virtual_function.flags = IBV_QPF_GRH_REQUIRED;
  for (const auto& [zero, one] : {std::pair(virtual_function, plain), std::pair(plain, virtual_function)}) {
    host.set_port("fake0", 1, zero);
    host.set_port("fake1", 1, one);
    ConnectedPair pair(verbs_transport(options_as_asked("fake0")),
                       verbs_transport(options_as_asked("fake1")));
    pair.connect();
  }
}

TEST_F(VerbsTransport, ports_of_infiniband_connect_in_a_partition_that_lets_them) {
  fake_verbs::FakePort port;
  port.link_layer = IBV_LINK_LAYER_INFINIBAND;
  const auto connect = [&](std::vector<std::uint16_t> zero, std::vector<std::uint16_t> one) {
    for (const auto& [device, pkeys] : {std::pair("fake0", zero), std::pair("fake1", one)}) {
      port.pkeys = pkeys;
      host.set_port(device, 1, port);
    }
    ConnectedPair pair(verbs_transport(options_as_asked("fake0")),
                       verbs_transport(options_as_asked("fake1")));
    pair.connect();
  };
  connect({0x7fff, 0x8005}, {0x7fff, 0, 0x8005});
  connect({0xffff, 0x8005}, {0x7fff, 0x8006});
  connect({0x8005, 0x8006}, {0x0005, 0x8006});
  const std::string message = error_of([&] { connect({0x7fff, 0x8005}, {0x7fff, 0x8006}); });
  EXPECT_NE(message.find("P_Key 7fff,8005) reaches one of"), std::string::npos) << message;
}

TEST_F(VerbsTransport, connections_take_a_devices_ports_in_turn) {
  const VerbsOptions options = options_of_two_ports(host);
  ConnectedPair pair(verbs_transport(options_of("fake0")), verbs_transport(options));
  pair.connect(0, "links/0");
  EXPECT_EQ(pair.ends[0]->describe(), "verbs fake0:1 - two:1");
  pair.connect(0, "links/1");
  EXPECT_EQ(pair.ends[0]->describe(), "verbs fake0:1 - two:2");
}

TEST_F(VerbsTransport, an_end_tells_in_the_handshake_which_of_its_ports_rest) {
  VerbsOptions options = options_of_two_ports(host);
  options.book = std::make_shared<PathBook>(false);
  ConnectedPair pair(verbs_transport(options_of("fake0")), verbs_transport(options));
  pair.connect();
  for (auto& end : pair.ends) end.reset();
  for (int flap = 0; flap < 2; ++flap) {
    options.book->port_changed("two:1", BreakReason::port_down);
    options.book->port_changed("two:1", std::nullopt);
  }
  pair.connect();
  EXPECT_EQ(pair.ends[0]->describe(), "verbs fake0:1 - two:2");
  const Deadline latest = Deadline::after_s(20);
  while (pair.ends[0]->better_way() != BetterWay::now && !latest.expired())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(pair.ends[0]->better_way(), BetterWay::now);
}

TEST_F(VerbsTransport, a_transport_without_a_listener_of_verbs_says_so) {
  const std::string message = error_of(
      [] { create_transport({.kind = TransportKind::verbs, .interfaces = {}, .secret = one_job()}); },
      kernels::Scope::job);
  EXPECT_NE(message.find("this build has no such transport"), std::string::npos) << message;
}

}  // namespace
}  // namespace tenax::comm::verbs
