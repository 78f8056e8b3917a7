// Delegated links between two ranks that are threads of this process.
#include "comm/delegates/delegated_link.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "comm/host_stream.hpp"
#include "comm/transport/transports.hpp"
#include "kernels/emulated_device.hpp"
#include "tests/comm/connection_checks.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/device_apart.hpp"
#include "tests/comm/meddling_transport.hpp"

namespace tenax::comm {
namespace {

constexpr int kTags = 13;
constexpr double kPatience_s = 100;

enum class Kind { zero_copy, copy_out, device_apart };

/// A rank's end of a link.
struct End {
  End(const std::string& transport, std::unique_ptr<kernels::Device> its_device)
      : network(create_transport({.kind = transport, .interfaces = {"lo"}})), device(std::move(its_device)) {}

  MeddlingTransport network;
  std::unique_ptr<kernels::Device> device;
  HostStream stream;
  std::unique_ptr<DelegatedLink> link;
};

class DelegatedLinkTest : public ::testing::Test {
 protected:
  void make_ends(const std::string& transport = "auto", Kind kind = Kind::zero_copy) {
    for (int rank = 0; rank < 2; ++rank) {
      auto device = kernels::create_cpu_device();
      if (kind == Kind::device_apart) device = std::make_unique<DeviceApart>(std::move(device));
      ends.push_back(std::make_unique<End>(transport, std::move(device)));
    }
    for (int rank = 0; rank < 2; ++rank)
      peers.push_back({rank, "rank " + std::to_string(rank) + " (here)",
                       ends[static_cast<std::size_t>(rank)]->network.addresses()});
    options.copy_out = kind == Kind::copy_out;
  }
  void make_link(std::size_t rank) {
    End& end = *ends[rank];
    end.link = create_delegated_link("p0", peers[rank], peers[1 - rank], end.network, *end.device, options);
  }
  void make_links(const std::string& transport = "auto", Kind kind = Kind::zero_copy) {
    make_ends(transport, kind);
    make_link(0);
    make_link(1);
  }
  TransferPtr send(std::size_t rank, std::vector<float>& values, Tag tag) {
    return ends[rank]->link->send(ends[rank]->stream, tensor_of(values), tag);
  }
  TransferPtr receive(std::size_t rank, std::vector<float>& values, Tag tag) {
    return ends[rank]->link->receive(ends[rank]->stream, tensor_of(values), tag);
  }
  void exchange(std::size_t rank, int messages, unsigned seed);
  void exchange_both_ways(int messages, const std::function<void()>& meanwhile = {});

  Gate gate;  // for tests that hold messages or listen; they outlive the ends
  Signal signal;
  std::vector<std::unique_ptr<End>> ends;
  std::vector<Peer> peers;
  DelegateOptions options{.delegates = 3, .deadline_s = 60, .copy_out = false, .signal = nullptr};
};

/// Message i of a rank: its length and contents follow from both.
std::vector<float> message_of(std::size_t rank, int i) {
  std::mt19937 random(static_cast<unsigned>(i) * 2 + static_cast<unsigned>(rank));
  const std::size_t size = i % 499 == 3 ? 200000 + random() % 100000 : random() % 600;
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random() % 100000);
  return values;
}

/// What an executor does, in a random order: sends, posts, and now and then waits; receives may be far behind. It waits for
/// message i only when it has sent its own message i, so that two of them never wait for each other.
void DelegatedLinkTest::exchange(std::size_t rank, int messages, unsigned seed) {
  struct Flight {
    std::vector<float> values;
    int number;
    TransferPtr transfer;
  };
  std::mt19937 random(seed);
  std::deque<Flight> sends, receives;
  int sent = 0, received = 0;
  const auto finish = [&](std::deque<Flight>& flights, std::size_t left) {
    while (flights.size() > left && flights.front().number < sent) {
      Flight& flight = flights.front();
      flight.transfer->wait(Deadline::after_s(kPatience_s));
      const bool is_receive = &flights == &receives;
      ASSERT_EQ(flight.values, message_of(is_receive ? 1 - rank : rank, flight.number)) << flight.number;
      std::fill(flight.values.begin(), flight.values.end(),
                -1.0F);  // a send that is done may change its memory
      flights.pop_front();
    }
  };
  while (sent < messages || received < messages) {
    const bool sends_next = received == messages || (sent < messages && random() % 2 == 0);
    if (sends_next) {
      Flight& flight = sends.emplace_back(Flight{message_of(rank, sent), sent, nullptr});
      flight.transfer = send(rank, flight.values, sent % kTags);
      ++sent;
    } else {
      Flight& flight = receives.emplace_back(
          Flight{std::vector<float>(message_of(1 - rank, received).size()), received, nullptr});
      flight.transfer = receive(rank, flight.values, received % kTags);
      ++received;
    }
    if (random() % 50 == 0) finish(receives, random() % 40);
    if (random() % 50 == 0) finish(sends, random() % 40 + 100);
  }
  finish(receives, 0);
  finish(sends, 0);
}

void DelegatedLinkTest::exchange_both_ways(int messages, const std::function<void()>& meanwhile) {
  std::atomic<int> running{2};
  std::vector<std::thread> threads;
  for (const std::size_t rank : {0U, 1U})
    threads.emplace_back([&, rank] {
      try {
        exchange(rank, messages, static_cast<unsigned>(rank) + 5);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
      --running;
    });
  while (meanwhile && running == 2) meanwhile();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DelegatedLinkTest, carries_random_messages_of_many_tags_both_ways_at_once_in_shared_memory) {
  make_links("shm");
  exchange_both_ways(10000);
}
TEST_F(DelegatedLinkTest, carries_random_messages_of_many_tags_both_ways_at_once_over_tcp) {
  make_links("tcp");
  exchange_both_ways(10000);
}
TEST_F(DelegatedLinkTest, carries_messages_that_it_copies_out) {
  make_links("auto", Kind::copy_out);
  exchange_both_ways(5000);
}
TEST_F(DelegatedLinkTest, carries_messages_of_a_device_whose_memory_the_host_cannot_read) {
  make_links("auto", Kind::device_apart);
  exchange_both_ways(5000);
}

class BrokenConnections : public DelegatedLinkTest {
 protected:
  void check(const std::string& transport, Kind kind) {
    make_links(transport, kind);
    std::mt19937 random(3);
    int broken = 0;
    exchange_both_ways(10000, [&] {
      broken += ends[random() % 2]->network.break_one(random) ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 8));
    });
    EXPECT_GT(broken, 3);
    EXPECT_GT(ends[0]->link->statistics().reconnections, 3);
    EXPECT_EQ(ends[0]->network.addresses_used().size(), peers[1].addresses.size()) << "each was tried";
  }
};

TEST_F(BrokenConnections, lose_double_and_reorder_nothing) { check("auto", Kind::zero_copy); }
TEST_F(BrokenConnections, lose_double_and_reorder_nothing_that_was_copied_out) {
  check("tcp", Kind::copy_out);
}
TEST_F(BrokenConnections, lose_double_and_reorder_nothing_of_a_device) { check("auto", Kind::device_apart); }

TEST_F(DelegatedLinkTest, goes_on_over_the_next_address_when_one_is_dead) {
  make_ends("tcp");
  std::string& first = peers[1].addresses.front();
  const std::size_t port = first.find(':', 4) + 1;
  first.replace(port, first.find('#') - port, "1");
  make_link(0);
  make_link(1);
  exchange_both_ways(50);
}

TEST_F(DelegatedLinkTest, a_send_is_done_though_its_receive_comes_late) {
  make_links();
  std::vector<float> first(3, 1), second(50000, 2), a(3), b(50000);
  const TransferPtr one = send(0, first, 4), two = send(0, second, 5);
  one->wait(Deadline::after_s(kPatience_s));
  two->wait(Deadline::after_s(kPatience_s));
  first.assign(3, 0);
  second.assign(50000, 0);
  const TransferPtr there = receive(1, b, 5);
  EXPECT_TRUE(there->done());
  receive(1, a, 4)->wait(Deadline::after_s(kPatience_s));
  EXPECT_EQ(a, std::vector<float>(3, 1));
  EXPECT_EQ(b, std::vector<float>(50000, 2));
  EXPECT_LE(there->timing().started_s.value(), there->timing().arrived_s.value());
}

TEST_F(DelegatedLinkTest, its_delegates_transmit_at_the_same_time) {
  make_ends();
  ends[0]->network.on_send([&](const MessageHeader& header) {
    if (header.kind == 1) gate.pass();
  });
  make_link(0);
  make_link(1);
  std::vector<std::vector<float>> values(4, std::vector<float>(10, 1));
  std::vector<TransferPtr> sends;
  for (auto& value : values) sends.push_back(send(0, value, 0));
  EXPECT_TRUE(gate.wait_for(3, kPatience_s)) << "three delegates";
  EXPECT_FALSE(gate.wait_for(4, 0.05)) << "one message at a time each";
  gate.open();
  for (int i = 0; i < 4; ++i) {
    std::vector<float> there(10);
    receive(1, there, 0)->wait(Deadline::after_s(kPatience_s));
    EXPECT_EQ(there, values[0]);
  }
  for (const TransferPtr& transfer : sends) transfer->wait(Deadline::after_s(kPatience_s));
  EXPECT_EQ(ends[0]->link->statistics().messages_sent, 4U);
  EXPECT_GT(ends[0]->link->statistics().sending_s, 0);
}

TEST_F(DelegatedLinkTest, a_slow_link_holds_the_memory_of_a_send_unless_it_is_copied_out) {
  for (const Kind kind : {Kind::zero_copy, Kind::copy_out, Kind::device_apart}) {
    ends.clear();
    peers.clear();
    make_ends("auto", kind);
    const auto slow = std::make_shared<Gate>();
    ends[0]->network.on_send([slow](const MessageHeader&) { slow->pass(); });
    make_link(0);
    make_link(1);
    std::vector<float> values(10, 1), there(10);
    const TransferPtr sent = send(0, values, 0);
    ASSERT_TRUE(slow->wait_for(1, kPatience_s));
    EXPECT_EQ(sent->done(), kind != Kind::zero_copy);
    if (sent->done()) values.assign(10, 2);
    slow->open();
    receive(1, there, 0)->wait(Deadline::after_s(kPatience_s));
    EXPECT_EQ(there, std::vector<float>(10, 1));
    sent->wait(Deadline::after_s(kPatience_s));
  }
}

TEST_F(DelegatedLinkTest, the_number_of_delegates_changes_while_it_lives) {
  options.delegates = 1;
  make_links();
  for (const int delegates : {1, 5, 2, 3}) {
    for (const auto& end : ends) end->link->set_delegates(delegates);
    exchange_both_ways(200);
  }
}

TEST_F(DelegatedLinkTest, closing_waits_until_everything_has_arrived) {
  make_links("auto", Kind::copy_out);
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

// The farewell may overtake the thread that sent the last message.
TEST_F(DelegatedLinkTest, a_send_that_the_peer_received_is_done_though_the_peer_has_closed_the_link) {
  for (int i = 0; i < 60; ++i) {
    ends.clear();
    peers.clear();
    make_links("shm");
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

TEST_F(DelegatedLinkTest, a_peer_that_never_comes_is_an_error_that_names_link_ranks_and_hosts) {
  options.deadline_s = 0.5;
  make_ends();
  for (const std::size_t rank : {0U, 1U}) {
    SCOPED_TRACE(rank == 0 ? "connecting" : "accepting");
    End alone("auto", kernels::create_cpu_device());
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

TEST_F(DelegatedLinkTest, notifies_the_signal_it_is_given) {
  make_ends();
  make_link(0);
  options.signal = &signal;
  make_link(1);
  EXPECT_EQ(ends[1]->link->signal(), &signal);
  std::vector<float> values(10, 1), there(10);
  const TransferPtr sent = send(0, values, 0), received = receive(1, there, 0);
  EXPECT_TRUE(signal.wait_until([&] { return received->done(); }, Deadline::after_s(kPatience_s)));
  sent->wait(Deadline::after_s(kPatience_s));
}

// The emulated device's messages are headers alone, but each copy takes its time, at both ends.
TEST_F(DelegatedLinkTest, on_an_emulated_device_a_message_costs_a_copy_at_each_end) {
  constexpr double kCopy_s = 0.01;
  make_ends();
  for (const std::size_t rank : {0U, 1U}) {
    ends[rank]->device = kernels::create_emulated_device({.copy_s = kCopy_s, .jitter_percent = 0, .seed = 1});
    make_link(rank);
  }
  const auto stream = ends[0]->device->create_stream(), other = ends[1]->device->create_stream();
  const auto buffer = ends[0]->device->allocate(1000000), there = ends[1]->device->allocate(1000000);
  const auto tensor = [](kernels::Buffer& memory) { return memory.tensor(kernels::DType::f32, {250000}); };
  for (const bool is_late : {false, true}) {
    TransferPtr received;
    if (!is_late) received = ends[1]->link->receive(*other, tensor(*there), 0);
    constexpr double kMaking_s = 0.005;
    auto& device = dynamic_cast<kernels::EmulatedDevice&>(*ends[0]->device);
    const double begin_s = kernels::steady_now_s() + kMaking_s;  // when the tensor is made at the earliest
    device.host_blocked(*stream);
    device.occupy(*stream, kMaking_s);
    const TransferPtr sent = ends[0]->link->send(*stream, tensor(*buffer), 0);
    sent->wait(Deadline::after_s(kPatience_s));
    if (is_late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (is_late) received = ends[1]->link->receive(*other, tensor(*there), 0);
    received->order_before(*other, Deadline::after_s(kPatience_s));
    received->wait(Deadline::after_s(kPatience_s));
    const TransferTiming timing = received->timing();
    EXPECT_GE(timing.started_s.value(), begin_s + kCopy_s);
    EXPECT_GE(timing.arrived_s.value(), timing.started_s.value() + 0.99 * kCopy_s);
  }
}

TEST(DelegatesNeeded, keep_pace_with_production) {
  EXPECT_EQ(delegates_needed(0.5, 0.125), 4);  // the paper's: 8 a second made, 2 a second carried
  EXPECT_EQ(delegates_needed(0.030, 0.010), 3);
  EXPECT_EQ(delegates_needed(0.031, 0.010), 4);
  EXPECT_EQ(delegates_needed(0.001, 0.010), 1);
  EXPECT_EQ(delegates_needed(0, 0), 1);
  EXPECT_EQ(delegates_needed(1, 0), 64);
  EXPECT_EQ(delegates_needed(100, 0.001), 64);
}

}  // namespace
}  // namespace tenax::comm
