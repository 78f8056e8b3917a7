// Connections through the injector: as slow and as dead as asked, and not otherwise changed.
#include <gtest/gtest.h>

#include <thread>

#include "comm/emulated/direct_endpoint.hpp"
#include "comm/poll.hpp"
#include "resilience/fault_injector.hpp"
#include "tests/comm/emulated_network.hpp"

namespace tenax::resilience {
namespace {

using comm::Connection;
using comm::MessageHeader;
using comm::Stopwatch;
using kernels::Deadline;

constexpr const char* kAddress = "tcp:10.0.0.5:4000";
constexpr const char* kOther = "tcp:10.0.0.6:4000";
const std::string kDirect = std::string(comm::kDirectPurpose) + "pipeline";

LinkFault slow(double delay_s) {
  LinkFault fault;
  fault.links = {{0, 1}};
  fault.delay_s = delay_s;
  return fault;
}
LinkFault down(const std::string& path) {
  LinkFault fault = slow(0);
  fault.down_path = path;
  return fault;
}

/// Two ranks of one process.
struct Ranks {
  explicit Ranks(const std::vector<LinkFault>& faults)
      : injectors{FaultInjector(faults), FaultInjector(faults)} {
    for (int rank = 0; rank < 2; ++rank)
      transports[rank] = injectors[rank].wrap(network.create_transport(rank), rank);
  }
  void begin_step(std::int64_t step) {
    for (FaultInjector& injector : injectors) injector.begin_step(step);
  }
  std::unique_ptr<Connection> connect(const std::string& address, const std::string& purpose) {
    return transports[0]->connect(peer(1), address, purpose, soon());
  }
  std::unique_ptr<Connection> accept(const std::string& purpose, double patience_s = 30) {
    return transports[1]->accept(peer(0), purpose, Deadline::after_s(patience_s));
  }
  static Deadline soon() { return Deadline::after_s(30); }
  static comm::Peer peer(int rank) { return {rank, "rank " + std::to_string(rank), {kAddress, kOther}}; }

  comm::LocalNetwork network{2};
  FaultInjector injectors[2];
  std::unique_ptr<comm::Transport> transports[2];
};

MessageHeader numbered(std::uint64_t number, std::uint64_t bytes = 8) {
  MessageHeader header;
  header.number = number;
  header.bytes = bytes;
  return header;
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.scope(), kernels::Scope::link);
    return error.what();
  }
  return "no error";
}
bool says_down(const std::string& message) { return message.find("the path is down") != std::string::npos; }

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
  fault.from_step = 1;
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

TEST(LinkDown, breaks_the_connections_of_an_address_at_both_ends_and_heals_for_new_ones) {
  LinkFault fault = down("10.0.0.5");
  fault.from_step = 1;
  fault.to_step = 2;
  Ranks ranks({fault});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, "a"), receiver = ranks.accept("a");
  auto other_sender = ranks.connect(kOther, "b"), other_receiver = ranks.accept("b");
  std::string blocked;
  std::thread receiving([&] { blocked = error_of([&] { receiver->receive(Deadline::after_s(100)); }); });
  ranks.begin_step(1);
  receiving.join();
  EXPECT_NE(blocked, "no error");  // of this end's cut or the other's, whichever came first
  EXPECT_TRUE(says_down(error_of([&] { sender->send(numbered(0), {}, Ranks::soon()); })));
  EXPECT_TRUE(says_down(error_of([&] { ranks.connect(kAddress, "c"); })));
  other_sender->send(numbered(5), {}, Ranks::soon());
  EXPECT_EQ(other_receiver->receive(Ranks::soon())->number, 5U);

  ranks.begin_step(2);
  EXPECT_TRUE(says_down(error_of([&] { sender->send(numbered(0), {}, Ranks::soon()); })));
  sender = ranks.connect(kAddress, "a");
  receiver = ranks.accept("a");
  sender->send(numbered(6), {}, Ranks::soon());
  EXPECT_EQ(receiver->receive(Ranks::soon())->number, 6U);
}

TEST(LinkDown, of_the_direct_path_spares_delegates) {
  Ranks ranks({down("direct")});
  auto direct = ranks.connect(kAddress, kDirect);
  auto delegate = ranks.connect(kAddress, "delegate");
  ranks.begin_step(0);
  EXPECT_TRUE(says_down(error_of([&] { direct->send(numbered(0), {}, Ranks::soon()); })));
  EXPECT_TRUE(says_down(error_of([&] { ranks.connect(kAddress, kDirect); })));
  EXPECT_TRUE(says_down(error_of([&] { ranks.accept(kDirect, 100); })));
  delegate->send(numbered(0), {}, Ranks::soon());
}

TEST(LinkDown, of_the_direct_path_comes_in_mid_iteration) {
  LinkFault fault = down("direct");
  fault.from_step = 1;
  fault.passing = 3;
  Ranks ranks({fault});
  ranks.begin_step(1);
  auto lower = ranks.connect(kAddress, kDirect), upper = ranks.accept(kDirect);
  auto delegate = ranks.connect(kAddress, "delegate");
  const auto pass = [](Connection& from, Connection& to, std::uint64_t number) {
    from.send(numbered(number), {}, Ranks::soon());
    const auto header = to.receive(Ranks::soon());
    ASSERT_TRUE(header);
    EXPECT_EQ(header->number, number);
  };
  pass(*lower, *upper, 0);
  pass(*upper, *lower, 1);
  lower->send(numbered(2), {}, Ranks::soon());
  EXPECT_TRUE(says_down(error_of([&] { lower->send(numbered(3), {}, Ranks::soon()); })));
  EXPECT_NE(error_of([&] {
              for (int i = 0; i < 2; ++i) upper->receive(Ranks::soon());
            }),
            "no error");
  EXPECT_TRUE(says_down(error_of([&] { ranks.connect(kAddress, kDirect); })));
  delegate->send(numbered(0), {}, Ranks::soon());
}

TEST(LinkDown, wakes_a_message_that_is_held) {
  LinkFault fault = down("direct");
  fault.from_step = 1;
  Ranks ranks({slow(1000), fault});
  ranks.begin_step(0);
  auto sender = ranks.connect(kAddress, kDirect);
  std::string message;
  std::thread sending(
      [&] { message = error_of([&] { sender->send(numbered(0), {}, Deadline::after_s(100)); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Stopwatch stopwatch;
  ranks.injectors[0].begin_step(1);
  sending.join();
  EXPECT_LT(stopwatch.elapsed_s(), 50);
  EXPECT_TRUE(says_down(message)) << message;
}

}  // namespace
}  // namespace tenax::resilience
