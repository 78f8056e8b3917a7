// What a delegated send costs: its memory, its delegates' time, copies.
#include <limits>

#include "kernels/emulated_device.hpp"
#include "tests/comm/delegates/delegated_link_fixture.hpp"

namespace tenax::comm {
namespace {

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
}

TEST_F(DelegatedLinkTest, its_delegates_share_a_wire_of_finite_bandwidth) {
  options.link_gbps = 1;
  make_links();
  constexpr std::size_t kElements = 625000;  // 20 ms
  std::vector<std::vector<float>> values(3, std::vector<float>(kElements, 1)), there = values;
  std::vector<TransferPtr> receives, sends;
  for (auto& value : there) receives.push_back(receive(1, value, 0));
  for (auto& value : values) sends.push_back(send(0, value, 0));
  double first_s = std::numeric_limits<double>::infinity(), last_s = 0;
  for (const TransferPtr& transfer : receives) {
    transfer->wait(Deadline::after_s(kPatience_s));
    const TransferTiming timing = transfer->timing();
    EXPECT_GE(timing.arrived_s.value(), timing.started_s.value() + 0.02) << "a turn is no delay";
    first_s = std::min(first_s, timing.started_s.value());
    last_s = std::max(last_s, timing.arrived_s.value());
  }
  EXPECT_GE(last_s, first_s + 0.06);
}

TEST_F(DelegatedLinkTest, a_slow_link_holds_the_memory_of_a_send) {
  make_ends();
  ends[0]->network.on_send([this](const MessageHeader&) { gate.pass(); });
  make_link(0);
  make_link(1);
  std::vector<float> values(10, 1), there(10);
  const TransferPtr sent = send(0, values, 0);
  ASSERT_TRUE(gate.wait_for(1, kPatience_s));
  EXPECT_FALSE(sent->done());
  gate.open();
  receive(1, there, 0)->wait(Deadline::after_s(kPatience_s));
  EXPECT_EQ(there, std::vector<float>(10, 1));
  sent->wait(Deadline::after_s(kPatience_s));
}

TEST_F(DelegatedLinkTest, the_number_of_delegates_changes_while_it_lives) {
  options.delegates = 1;
  make_links();
  for (const int delegates : {1, 5, 2, 3}) {
    for (const auto& end : ends) end->link->set_delegates(delegates);
    exchange_both_ways(200);
  }
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
