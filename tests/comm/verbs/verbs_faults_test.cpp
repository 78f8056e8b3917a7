// What a connection over RDMA does when its path, its device or the other end fails.
#include "comm/poll.hpp"
#include "comm/verbs.hpp"
#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm::verbs {
namespace {

class VerbsFaults : public VerbsTest {
 protected:
  VerbsFaults() : VerbsTest(0.3) {}
};

/// Registered: its sends wait for acknowledgements, and so for failures.
class RegisteredPayload {
 public:
  explicit RegisteredPayload(Transport& transport) : registration_(transport.register_memory(bytes)) {}
  std::vector<std::byte> bytes = std::vector<std::byte>(300000, std::byte{1});

 private:
  std::unique_ptr<MemoryRegistration> registration_;
};

TEST_F(VerbsFaults, every_status_breaks_the_connection_and_is_told) {
  const std::pair<ibv_wc_status, const char*> statuses[] = {
      {IBV_WC_RETRY_EXC_ERR, "nothing sent this way is acknowledged"},
      {IBV_WC_RESP_TIMEOUT_ERR, "nothing sent this way is acknowledged"},
      {IBV_WC_REM_ABORT_ERR, "nothing sent this way is acknowledged"},
      {IBV_WC_LOC_QP_OP_ERR, "the port carries nothing"},
      {IBV_WC_FATAL_ERR, "the device has failed"},
      {IBV_WC_GENERAL_ERR, "the device has failed"},
      {IBV_WC_LOC_LEN_ERR, "the connection is broken"},
      {IBV_WC_LOC_PROT_ERR, "the connection is broken"},
      {IBV_WC_LOC_ACCESS_ERR, "the connection is broken"},
      {IBV_WC_BAD_RESP_ERR, "the connection is broken"},
      {IBV_WC_REM_INV_REQ_ERR, "the connection is broken"},
      {IBV_WC_REM_ACCESS_ERR, "the connection is broken"},
      {IBV_WC_REM_OP_ERR, "the connection is broken"},
      {IBV_WC_RNR_RETRY_EXC_ERR, "the connection is broken"}};
  for (const auto& [status, sentence] : statuses) {
    new_pair().connect();
    RegisteredPayload payload(*pair().transports[0]);
    host.fail_next("fake0", status);
    const std::string message = error_of([&] { send(zero(), payload.bytes); });
    EXPECT_NE(message.find(sentence), std::string::npos) << status << ": " << message;
    EXPECT_NE(message.find("status " + std::to_string(status)), std::string::npos) << message;
    EXPECT_NE(error_of([&] { send(zero(), payload.bytes); }), "no error") << "broken for ever";
    pair().ends[0].reset();
    EXPECT_NE(error_of([&] { receive(one()); }), "no error") << "the other end learns of it";
  }
}

TEST_F(VerbsFaults, a_path_that_loses_all_is_given_up_after_the_silence) {
  pair().connect();
  RegisteredPayload payload(*pair().transports[0]);
  host.set_path("fake0", "fake1", {.is_lossy = true});
  const std::string message = error_of([&] { send(zero(), payload.bytes); });
  EXPECT_NE(message.find("fake0:1 - fake1:1: nothing sent this way is acknowledged"), std::string::npos)
      << message;
}

TEST_F(VerbsFaults, nobody_waits_until_a_broken_connection_is_destroyed) {
  pair().connect();
  RegisteredPayload payload(*pair().transports[0]);
  host.fail_next("fake0", IBV_WC_RETRY_EXC_ERR);
  EXPECT_NE(error_of([&] { send(zero(), payload.bytes); }), "no error");
  const int objects = host.objects();
  host.hold_queue_pairs(true);
  pair().ends[0].reset();
  EXPECT_EQ(host.objects(), objects);
  host.hold_queue_pairs(false);
  EXPECT_TRUE(poll_until([&] { return host.objects() < objects; }, Deadline::after_s(kPatience_s)));
}

/// The payload was copied: its send has returned, and nobody sends any more.
TEST_F(VerbsFaults, what_fails_while_nobody_sends_is_told_to_who_receives) {
  for (const bool says_so : {true, false}) {
    new_pair().connect();
    host.set_path("fake0", "fake1", {.delay_s = says_so ? 0 : 3600.0, .is_lossy = says_so});
    send(zero(), std::vector<std::byte>(100));
    const std::string message = error_of([&] { zero().receive(Deadline::after_s(20)); });
    EXPECT_NE(message.find("nothing sent this way is acknowledged"), std::string::npos) << message;
    EXPECT_EQ(zero().break_reason(), "no_answer");
    EXPECT_NE(error_of([&] { one().receive(Deadline::after_s(20)); }), "no error") << "both ends learn of it";
    EXPECT_EQ(one().break_reason(), "no_answer");
    host.set_path("fake0", "fake1", {});
  }
}

/// By then the receiving thread looks once a minute.
TEST_F(VerbsFaults, what_fails_after_a_rest_is_told_as_soon) {
  pair().connect();
  EXPECT_FALSE(zero().receive(Deadline::after_s(0.01)).has_value());
  std::string message;
  std::thread receiver([&] { message = error_of([&] { zero().receive(Deadline::after_s(20)); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  host.set_path("fake0", "fake1", {.delay_s = 3600});
  send(zero(), std::vector<std::byte>(100));
  receiver.join();
  EXPECT_NE(message.find("the device does not say why"), std::string::npos) << message;
}

TEST_F(VerbsFaults, lost_acknowledgements_are_silence_too) {
  pair().connect();
  RegisteredPayload payload(*pair().transports[0]);
  host.set_path("fake1", "fake0", {.is_lossy = true});
  EXPECT_NE(error_of([&] { send(zero(), payload.bytes); }).find("acknowledged"), std::string::npos);
  EXPECT_EQ(receive(one()), payload.bytes) << "it did arrive";
}

/// The device says nothing for an hour.
TEST_F(VerbsFaults, a_device_that_does_not_say_so_is_not_waited_for) {
  pair().connect();
  RegisteredPayload payload(*pair().transports[0]);
  host.set_path("fake0", "fake1", {.delay_s = 3600});
  const std::string message = error_of([&] { send(zero(), payload.bytes); });
  EXPECT_NE(message.find("the device does not say why"), std::string::npos) << message;
}

TEST_F(VerbsFaults, a_port_that_goes_down_breaks_its_connections) {
  pair().connect();
  RegisteredPayload payload(*pair().transports[0]);
  fake_verbs::FakePort down;
  down.state = IBV_PORT_DOWN;
  host.set_port("fake0", 1, down);
  const std::string message = error_of([&] { send(zero(), payload.bytes); });
  EXPECT_NE(message.find("the port carries nothing"), std::string::npos) << message;
}

/// Nobody reads its events here: what it flushes is all there is to see.
TEST_F(VerbsFaults, a_device_that_is_removed_breaks_its_connections) {
  pair().connect();
  host.remove_device("fake0");
  const std::string message = error_of([&] { send_messages(zero(), 1, 100); });
  EXPECT_NE(message.find("verbs fake0:1 - fake1:1: "), std::string::npos) << message;
  EXPECT_EQ(zero().break_reason(), "device_lost") << message;
  EXPECT_NE(error_of([&] { one().receive(Deadline::after_s(20)); }), "no error");
  EXPECT_EQ(one().break_reason(), "peer_port_down");
  EXPECT_NE(error_of([&] { pair().connect(); }, kernels::Scope::rank).find("no such device"),
            std::string::npos);
}

TEST_F(VerbsFaults, a_waiting_receiver_learns_at_once_that_the_other_end_is_gone) {
  pair().connect();
  std::string message;
  std::thread receiver([&] { message = error_of([&] { one().receive(Deadline::after_s(60)); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  pair().ends[0].reset();
  receiver.join();
  EXPECT_NE(message.find("the process at the other end has left"), std::string::npos) << message;
  EXPECT_NE(error_of([&] { one().check(); }), "no error");
}

/// What was under way when its sender gave up is late: it is the message or nothing, in memory that is still registered.
TEST_F(VerbsFaults, late_writes_carry_what_was_sent_and_reach_no_memory_that_was_given_back) {
  for (const bool receiver_stays : {true, false}) {
    pair().connect();
    RegisteredPayload payload(*pair().transports[0]);
    const std::vector<std::byte> sent = payload.bytes;
    host.set_path("fake0", "fake1", {.delay_s = 0.4});
    EXPECT_NE(error_of([&] { send(zero(), payload.bytes, 0.05); }), "no error");
    std::fill(payload.bytes.begin(), payload.bytes.end(), std::byte{9});
    EXPECT_GT(host.ghosts(), 0);
    if (receiver_stays) {
      EXPECT_EQ(receive(one()), sent);
    } else {
      pair().ends[1].reset();
    }
    while (host.ghosts() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    host.set_path("fake0", "fake1", {});
  }
}

TEST_F(VerbsFaults, memory_beyond_what_may_be_locked_is_refused_with_what_to_do) {
  pair();
  host.allow_locked_memory(1000000);
  const std::string message = error_of([&] { pair().connect(); });
  EXPECT_NE(message.find("ulimit -l"), std::string::npos) << message;
  host.allow_locked_memory(SIZE_MAX);
  pair().connect();
}

TEST_F(VerbsFaults, queues_beyond_what_may_be_locked_are_refused_with_what_to_do) {
  host.allow_queue_pairs(false);
  const std::string message = error_of([&] { pair().connect(); });
  EXPECT_NE(message.find("no queue pair"), std::string::npos) << message;
  EXPECT_EQ(message.find("ulimit -l") != std::string::npos, locked_memory_bytes().has_value()) << message;
  host.allow_queue_pairs(true);
  pair().connect();
}

TEST_F(VerbsFaults, ends_without_a_common_kind_of_port_are_told_so) {
  VerbsOptions infiniband = options_of("fake1");
  infiniband.ports = [] {
    Port port = fake_port(Device::open("fake1"));
    port.link_layer = LinkLayer::infiniband;
    return std::vector<Port>{port};
  };
  ConnectedPair pair(verbs_transport(options_of("fake0")), verbs_transport(infiniband));
  const std::string message = error_of([&] { pair.connect(); });
  EXPECT_NE(message.find("refused: "), std::string::npos) << message;
  EXPECT_NE(message.find("no usable port of the connecting end (fake0:1 ::ffff:127.0.0.1)"),
            std::string::npos)
      << message;
}

/// What a second attempt has to say of the one before, for each of `parts`.
void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
}
const std::string kGids = "fake0:1 ::ffff:127.0.0.1, fake1:1 ::ffff:127.0.0.1";

/// The handshake's test messages do not come through.
TEST_F(VerbsFaults, a_path_that_carries_nothing_is_no_connection) {
  host.set_path("fake0", "fake1", {.is_lossy = true});
  const std::string message = error_of([&] { pair().connect(); });
  expect_parts(message, {"fake0:1 - fake1:1", kGids});
  host.set_path("fake0", "fake1", {});
  expect_parts(
      error_of([&] { pair().connect(); }),
      {"failed a moment ago", "saw: verbs fake0:1 - fake1:1: nothing sent this way is acknowledged", kGids});
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  pair().connect();
}

/// As where the ports allow larger packets than a switch between them.
TEST_F(VerbsFaults, a_path_that_carries_small_packets_only_is_no_connection) {
  for (const auto& [from, to] : {std::pair("fake0", "fake1"), std::pair("fake1", "fake0")}) {
    host.set_path(from, to, {.longest = 1500});
    new_pair();
    EXPECT_NE(error_of([&] { pair().connect(); }), "no error") << from;
    expect_parts(error_of([&] { pair().connect(); }),
                 {"nothing sent this way is acknowledged", "fake0:1 ::ffff:127.0.0.1",
                  "fake1:1 ::ffff:127.0.0.1", "packets of 1024 bytes"});
    host.set_path(from, to, {});
  }
}

/// Its test messages come through either way.
TEST_F(VerbsFaults, a_connection_stays_where_its_successor_is_not_acknowledged) {
  pair().connect();
  for (const auto& [from, to] : {std::pair("fake0", "fake1"), std::pair("fake1", "fake0")}) {
    host.set_path(from, to, {.loses_acknowledgements = true});
    const auto connect = [&] {
      pair().transports[0]->connect(pair().peers[1], pair().peers[1].addresses[0], "test",
                                    Deadline::after_s(1));
    };
    EXPECT_NE(error_of(connect), "no error") << from;
    host.set_path(from, to, {});
    send_messages(zero(), 1, 3);
    expect_messages(one(), 1, 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // until the path is tried again
  }
}

TEST_F(VerbsFaults, ports_without_a_route_are_left_alone_as_silent_ones_are) {
  host.allow_routes(false);
  expect_parts(error_of([&] { pair().connect(); }), {"cannot be connected", kGids});
  host.allow_routes(true);
  expect_parts(error_of([&] { pair().connect(); }), {"failed a moment ago", "cannot be connected", kGids});
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  pair().connect();
}

/// What the accepting end sends takes 5 s, which its silence_s would not allow either.
TEST(VerbsHaste, blames_no_path_that_its_maker_has_no_time_to_test) {
  fake_verbs::Host host;
  host.add_device("fake0");
  host.add_device("fake1");
  ConnectedPair pair(verbs_transport(options_of("fake0", 1)), verbs_transport(options_of("fake1", 1)));
  host.set_path("fake1", "fake0", {.delay_s = 5});
  const std::string message = error_of([&] {
    pair.transports[0]->connect(pair.peers[1], pair.peers[1].addresses[0], "test", Deadline::after_s(0.2));
  });
  EXPECT_NE(message.find("no test message came over it"), std::string::npos) << message;
  // The accepting end would have found out by then.
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));
  host.set_path("fake1", "fake0", {});
  pair.connect();
}

}  // namespace
}  // namespace tenax::comm::verbs
