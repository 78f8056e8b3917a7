// Connections through the injector: as slow and as dead as asked, and not otherwise changed.
#include "tests/resilience/faults/injected_connections.hpp"

namespace tenax::resilience::connections {
namespace {

TEST(InjectedConnection, holds_one_message_at_a_time_for_its_delay_and_keeps_their_order) {
  Ranks ranks({slow(0.03)});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, "delegate 0"), receiver = ranks.accept("delegate 0");
  const Stopwatch stopwatch;
  std::thread sending([&] {
    for (std::uint64_t i = 0; i < 4; ++i) sender->send(numbered(i), {}, Ranks::soon());
  });
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto header = receiver->receive(Ranks::soon());
    ASSERT_TRUE(header);
    EXPECT_EQ(header->number, i);
    EXPECT_GE(stopwatch.elapsed_s(), 0.03 * static_cast<double>(i + 1));
  }
  sending.join();
}

TEST(InjectedConnection, lets_messages_of_several_connections_overlap) {
  constexpr int kConnections = 8;
  Ranks ranks({slow(0.5)});
  ranks.begin_step(0);
  std::vector<std::unique_ptr<Connection>> senders;
  for (int i = 0; i < kConnections; ++i) senders.push_back(ranks.connect(kAddress, std::to_string(i)));
  const Stopwatch stopwatch;
  std::vector<std::thread> threads;
  for (auto& sender : senders) threads.emplace_back([&] { sender->send(numbered(0), {}, Ranks::soon()); });
  for (auto& thread : threads) thread.join();
  EXPECT_GE(stopwatch.elapsed_s(), 0.5);
  EXPECT_LT(stopwatch.elapsed_s(), 3);  // one after the other: 4 s
}

TEST(InjectedConnection, delays_answers_as_well_and_carries_the_bytes) {
  Ranks ranks({slow(0.02)});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, "x"), receiver = ranks.accept("x");
  const std::vector<std::byte> bytes(100, std::byte{7});
  MessageHeader header = numbered(3, 100);
  header.payload_bytes = 100;
  const Stopwatch stopwatch;
  receiver->send(header, bytes, Ranks::soon());
  ASSERT_TRUE(sender->receive(Ranks::soon()));
  EXPECT_GE(stopwatch.elapsed_s(), 0.02);
  std::vector<std::byte> got(100);
  sender->receive_payload(got, Ranks::soon());
  EXPECT_EQ(got, bytes);
}

TEST(InjectedConnection, counts_the_tensors_packets_also_where_no_payload_travels) {
  LinkFault fault = slow(0);
  fault.per_packet_s = 0.001;
  fault.packet_bytes = 1000;
  Ranks ranks({fault});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, "x");
  const Stopwatch stopwatch;
  sender->send(numbered(0, 49001), {}, Ranks::soon());
  EXPECT_GE(stopwatch.elapsed_s(), 0.05);
}

TEST(InjectedConnection, takes_as_long_as_the_bandwidth_that_is_left_says) {
  LinkFault fault = slow(0);
  fault.gbps = 0.001;
  Ranks ranks({fault});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, "x");
  const Stopwatch stopwatch;
  sender->send(numbered(0, 6250), {}, Ranks::soon());
  EXPECT_GE(stopwatch.elapsed_s(), 0.05);
}

TEST(InjectedConnection, counts_its_delay_as_transmission_not_as_queueing) {
  Ranks ranks({slow(0.05)});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, "x"), receiver = ranks.accept("x");
  const auto seconds = [] {
    return std::chrono::duration<double>(LinkFaults::Clock::now().time_since_epoch()).count();
  };
  const double before_s = seconds();
  sender->send(numbered(0), {}, Ranks::soon());
  const double started_s = receiver->receive(Ranks::soon())->started_s;
  EXPECT_GE(started_s, before_s);
  EXPECT_LE(started_s, seconds() - 0.05);
  MessageHeader stamped = numbered(1);
  stamped.started_s = 12.5;
  sender->send(stamped, {}, Ranks::soon());
  EXPECT_EQ(receiver->receive(Ranks::soon())->started_s, 12.5);
}

TEST(InjectedConnection, leaves_other_steps_links_and_control_connections_alone) {
  LinkFault fault = slow(1000);
  fault.window.from_step = 1;
  Ranks ranks({fault, down("direct")});
  ranks.begin_step(0);
  ranks.connect(kAddress, "x")->send(numbered(0), {}, Ranks::soon());
  ranks.begin_step(1);
  ranks.connect(kAddress, std::string(comm::kChannelControlPurpose) + "x")
      ->send(numbered(0), {}, Ranks::soon());
  ranks.transports[0]
      ->connect(Ranks::peer(2), kAddress, kDirect, Ranks::soon())
      ->send(numbered(0), {}, Ranks::soon());
}

TEST(InjectedConnection, that_cannot_send_within_its_deadline_says_so) {
  Ranks ranks({slow(1000)});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, "x");
  const std::string message = error_of([&] { sender->send(numbered(0), {}, Deadline::after_s(0.05)); });
  EXPECT_NE(message.find("raise comm.deadline_s"), std::string::npos) << message;
}

TEST(InjectedConnection, is_woken_when_it_is_shut_down_while_it_holds_a_message) {
  Ranks ranks({slow(1000)});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, "x");
  std::string message;
  std::thread sending(
      [&] { message = error_of([&] { sender->send(numbered(0), {}, Deadline::after_s(100)); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Stopwatch stopwatch;
  sender->shut_down();
  sending.join();
  EXPECT_LT(stopwatch.elapsed_s(), 50);
  EXPECT_NE(message.find("was shut down"), std::string::npos) << message;
}

}  // namespace
}  // namespace tenax::resilience::connections
