// How delegated links, their waits and their sends end.
#include "comm/delegates/acknowledger.hpp"
#include "tests/comm/delegates/delegated_link_fixture.hpp"

namespace tenax::comm {
namespace {

TEST_F(DelegatedLinkTest, closing_waits_until_everything_has_arrived) {
  make_links();
  constexpr int kMessages = 200;
  std::vector<std::vector<float>> values(kMessages, std::vector<float>(1000, 1));
  std::vector<TransferPtr> sends;
  for (int i = 0; i < kMessages; ++i) sends.push_back(send(0, values[static_cast<std::size_t>(i)], i));
  ends[0]->link.reset();
  for (int i = kMessages; i-- > 0;) {
    std::vector<float> there(1000);
    receive(1, there, i)->wait(Deadline::after_s(kPatience_s));
    ASSERT_EQ(there, std::vector<float>(1000, 1));
  }
}

TEST_F(DelegatedLinkTest, a_send_that_the_peer_received_is_done_though_the_peer_has_closed_the_link) {
  for (int i = 0; i < 60; ++i) {
    ends.clear();
    peers.clear();
    make_links(TransportKind::shared_memory);
    std::vector<float> values(1000, 1), there(1000);
    const TransferPtr sent = send(1, values, 0);
    std::thread peer([&] {
      receive(0, there, 0)->wait(Deadline::after_s(kPatience_s));
      ends[0]->link.reset();
    });
    EXPECT_EQ(error_of([&] { sent->wait(Deadline::after_s(kPatience_s)); }), "no error");
    peer.join();
  }
}

TEST_F(DelegatedLinkTest, closing_one_end_fails_what_the_other_still_waits_for) {
  make_links();
  std::vector<float> values(10, 1), there(10);
  const TransferPtr hopeless = receive(1, there, 0);
  ends[0]->link.reset();
  std::string message = error_of([&] { hopeless->wait(Deadline::after_s(kPatience_s)); });
  EXPECT_NE(message.find("rank 0 (here) has closed it"), std::string::npos) << message;
  message = error_of([&] { send(1, values, 0)->wait(Deadline::after_s(kPatience_s)); });
  EXPECT_NE(message.find("rank 0 (here) has closed it"), std::string::npos) << message;
}

// Both ends of a link close it at the same time: nothing is there that a farewell could be sent on.
TEST_F(DelegatedLinkTest, there_is_no_farewell_to_a_peer_that_has_closed_the_link_first) {
  constexpr double kForever_s = 1e6;
  make_ends();
  const LinkParties parties{"p0", peers[0], peers[1], ends[0]->network, kPatience_s};
  Acknowledger acknowledger(parties, [] { return Acknowledger::Channels(); });
  int looks = 0;
  acknowledger.close(kForever_s, [&] { return ++looks == 3; });
  EXPECT_EQ(looks, 3);
}

TEST_F(DelegatedLinkTest, a_peer_that_never_comes_is_an_error_that_names_link_ranks_and_hosts) {
  options.deadline_s = 0.5;
  make_ends();
  for (const std::size_t rank : {0U, 1U}) {
    SCOPED_TRACE(rank == 0 ? "connecting" : "accepting");
    End alone(network_of(rank, TransportKind::automatic), kernels::create_cpu_device());
    Peer ghost = peers[1 - rank];
    if (rank == 0) ends[1].reset();  // its addresses lead nowhere
    alone.link = create_delegated_link("p0", peers[rank], ghost, alone.network, *alone.device, options);
    std::vector<float> values(10, 1);
    const std::string message = error_of([&] {
      alone.link->receive(alone.stream, tensor_of(values), 0)->wait(Deadline::after_s(kPatience_s));
    });
    EXPECT_NE(message.find("delegated link p0"), std::string::npos) << message;
    EXPECT_NE(message.find(peers[rank].name + " waited"), std::string::npos) << message;
    EXPECT_NE(message.find("for " + ghost.name), std::string::npos) << message;
    EXPECT_NE(error_of([&] {
                alone.link->send(alone.stream, tensor_of(values), 0)->wait(Deadline::after_s(kPatience_s));
              }),
              "no error");
  }
}

TEST_F(DelegatedLinkTest, a_wait_ends_at_its_own_deadline) {
  make_links();
  std::vector<float> values(10, 1);
  const TransferPtr receive_transfer = receive(0, values, 6);
  const std::string message = error_of([&] { receive_transfer->wait(Deadline::after_s(0.05)); });
  EXPECT_NE(message.find("receive of 40 bytes (tag 6): rank 0 (here) waited"), std::string::npos) << message;
}

TEST_F(DelegatedLinkTest, a_send_that_is_given_up_is_not_read_any_more) {
  make_ends();
  ends[0]->network.on_send([&](const MessageHeader&) { gate.pass(); });
  make_link(0);
  make_link(1);
  auto values = std::make_unique<std::vector<float>>(100000, 1.0F);
  std::vector<float> more(10);
  TransferPtr sending = send(0, *values, 0);
  ASSERT_TRUE(gate.wait_for(1, kPatience_s));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  sending.reset();  // blocks while it is read
  values.reset();
  opener.join();
}

}  // namespace
}  // namespace tenax::comm
