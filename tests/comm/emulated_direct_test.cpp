// The emulated device's direct links, ranks as threads over a network whose messages the tests hold and
// delay.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "comm/emulated/direct_endpoint.hpp"
#include "kernels/emulated_device.hpp"
#include "tests/comm/emulated_network.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::DType;
using kernels::Tensor;

constexpr double kPatience_s = 20;  // for what happens unless something is broken
const Tensor kDataless{nullptr, DType::f32, {250}};

Deadline soon() { return Deadline::after_s(kPatience_s); }

/// Holds the messages on the network until it is opened, and counts them.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_until(lock, soon().when(), [this] { return open_; }));
    --inside_;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait_for_messages(int inside) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, soon().when(), [&] { return inside_ >= inside; });
  }
  int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int inside_ = 0, most_ = 0;
};

bool is_message(const std::string& purpose) { return purpose.starts_with(kDirectPurpose); }

OnSend hold_at(Gate& gate) {
  return [&gate](int, int, const std::string& purpose, const MessageHeader&) {
    if (is_message(purpose)) gate.pass();
  };
}

OnSend delay_by(double seconds) {
  return [seconds](int, int, const std::string& purpose, const MessageHeader&) {
    if (is_message(purpose)) kernels::sleep_until_s(kernels::steady_now_s() + seconds);
  };
}

/// A rank with a device of its own.
struct Rank {
  Rank(LocalNetwork& network, int rank, DirectOptions options) {
    std::vector<int> neighbours;
    const int size = static_cast<int>(network.peers().size());
    if (rank > 0) neighbours.push_back(rank - 1);
    if (rank + 1 < size) neighbours.push_back(rank + 1);
    endpoint = create_emulated_direct_endpoint("pipeline", network.peers(), rank, neighbours,
                                               network.transport(rank), *device, options);
  }
  std::unique_ptr<kernels::EmulatedDevice> device = kernels::create_emulated_device({});
  std::unique_ptr<kernels::Stream> stream = device->create_stream();
  std::unique_ptr<Endpoint> endpoint;

  TransferPtr send(int peer, Tag tag = 0) { return endpoint->link(peer).send(*stream, kDataless, tag); }
  TransferPtr receive(int peer, Tag tag = 0) { return endpoint->link(peer).receive(*stream, kDataless, tag); }
  double mark_s() {
    const auto event = device->create_event();
    stream->record(*event);
    return event->time_s();
  }
};

std::vector<std::unique_ptr<Rank>> make_ranks(LocalNetwork& network, DirectOptions options) {
  std::vector<std::unique_ptr<Rank>> ranks(network.peers().size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    threads.emplace_back(
        [&, rank] { ranks[rank] = std::make_unique<Rank>(network, static_cast<int>(rank), options); });
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

class EveryModel : public testing::TestWithParam<DirectOptions> {};

TEST_P(EveryModel, messages_of_a_tag_arrive_in_order_with_their_data_in_both_directions) {
  LocalNetwork network(2);
  const auto ranks = make_ranks(network, GetParam());
  const auto run = [&](int me) {
    Rank& rank = *ranks[static_cast<std::size_t>(me)];
    Link& link = rank.endpoint->link(1 - me);
    std::vector<std::unique_ptr<kernels::Buffer>> memory;
    std::vector<TransferPtr> sends, receives;
    for (int i = 0; i < 40; ++i) {
      memory.push_back(rank.device->allocate(100, kernels::MemoryKind::pinned_host));
      std::memset(memory.back()->data(), 100 * me + i, 100);
      sends.push_back(link.send(*rank.stream, memory.back()->tensor(DType::f32, {25}), i % 3));
    }
    for (int i = 0; i < 40; ++i) {
      const auto buffer = rank.device->allocate(100, kernels::MemoryKind::pinned_host);
      link.receive(*rank.stream, buffer->tensor(DType::f32, {25}), i % 3)->wait(soon());
      const auto* const bytes = static_cast<const unsigned char*>(buffer->data());
      EXPECT_TRUE(std::all_of(bytes, bytes + 100, [&](int byte) { return byte == 100 * (1 - me) + i; })) << i;
    }
    for (const TransferPtr& send : sends) send->wait(soon());
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
}

TEST_P(EveryModel, a_receiver_learns_when_transmission_began_and_ended) {
  LocalNetwork network(2, delay_by(0.02));
  const double begin_s = kernels::steady_now_s();
  const auto ranks = make_ranks(network, GetParam());
  const TransferPtr first = ranks[1]->receive(0), second = ranks[1]->receive(0);
  ranks[0]->send(1);
  ranks[0]->send(1);
  first->wait(soon());
  second->wait(soon());
  const TransferTiming one = first->timing(), two = second->timing();
  EXPECT_GE(*one.started_s, begin_s);
  EXPECT_GE(*one.arrived_s, *one.started_s + 0.02);
  EXPECT_LE(*one.arrived_s, kernels::steady_now_s());
  EXPECT_GE(*two.started_s, *one.started_s + 0.02) << "time in the queue is not transmission";
  EXPECT_GE(*two.arrived_s, *two.started_s + 0.02);
}

TEST_P(EveryModel, an_input_that_arrived_late_starts_the_operation_late) {
  LocalNetwork network(2, delay_by(0.03));
  const auto ranks = make_ranks(network, GetParam());
  const TransferPtr receive = ranks[1]->receive(0);
  ranks[0]->send(1);
  receive->order_before(*ranks[1]->stream, soon());
  EXPECT_EQ(ranks[1]->mark_s(), *receive->timing().arrived_s);
}

TEST_P(EveryModel, a_message_occupies_a_link_of_finite_bandwidth) {
  DirectOptions options = GetParam();
  options.link_gbps = 1;
  LocalNetwork network(2);
  const auto ranks = make_ranks(network, options);
  const Tensor tensor{nullptr, DType::f32, {1250000}};  // 5 MB
  const TransferPtr receive = ranks[1]->endpoint->link(0).receive(*ranks[1]->stream, tensor, 0);
  ranks[0]->endpoint->link(1).send(*ranks[0]->stream, tensor, 0);
  receive->wait(soon());
  EXPECT_GE(*receive->timing().arrived_s, *receive->timing().started_s + 0.04);
}

TEST_P(EveryModel, a_send_starts_when_its_stream_has_passed_what_is_enqueued) {
  LocalNetwork network(2);
  const auto ranks = make_ranks(network, GetParam());
  const TransferPtr receive = ranks[1]->receive(0);
  const double end_s = kernels::steady_now_s() + 0.05;
  ranks[0]->stream->input_arrived(end_s);
  ranks[0]->send(1);
  receive->wait(soon());
  EXPECT_GE(*receive->timing().started_s, end_s);
}

TEST_P(EveryModel, an_endpoint_that_goes_sends_what_it_still_has) {
  LocalNetwork network(2, delay_by(0.01));
  auto ranks = make_ranks(network, GetParam());
  std::vector<TransferPtr> receives;
  for (int i = 0; i < 3; ++i) receives.push_back(ranks[1]->receive(0));
  for (int i = 0; i < 3; ++i) ranks[0]->send(1);
  ranks[0].reset();
  for (const TransferPtr& receive : receives) receive->wait(soon());
}

TEST_P(EveryModel, a_broken_connection_ends_sends_and_receives_in_an_error) {
  LocalNetwork network(2, [](int from, int, const std::string& purpose, const MessageHeader&) {
    if (from == 0 && is_message(purpose)) throw kernels::Error(kernels::Scope::link, "the cable is cut");
  });
  const auto ranks = make_ranks(network, GetParam());
  const TransferPtr receive = ranks[1]->receive(0), own = ranks[0]->receive(1);
  ranks[0]->send(1);
  EXPECT_THROW(receive->wait(soon()), kernels::Error);
  try {
    own->wait(soon());
    FAIL() << "a receive over a broken link";
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.scope(), kernels::Scope::link);
    EXPECT_STREQ(error.what(), "the cable is cut");
  }
  EXPECT_THROW(ranks[0]->send(1), kernels::Error);
}

TEST_P(EveryModel, a_silent_neighbour_ends_a_receive_at_its_deadline) {
  LocalNetwork network(2);
  const auto ranks = make_ranks(network, GetParam());
  const TransferPtr receive = ranks[1]->receive(0);
  EXPECT_FALSE(receive->done());
  try {
    receive->wait(Deadline::after_s(0.05));
    FAIL() << "nobody sent";
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.scope(), kernels::Scope::link);
    EXPECT_NE(std::string(error.what()).find("rank 0 (here)"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(EmulatedDirect, EveryModel,
                         testing::Values(DirectOptions{.depth = 1}, DirectOptions{.depth = 50},
                                         DirectOptions{.model = DirectModel::shared_channel},
                                         DirectOptions{.model = DirectModel::shared_channel, .paired = true}),
                         [](const auto& instance) {
                           const DirectOptions& options = instance.param;
                           if (options.model == DirectModel::send_queue)
                             return "send_queue_" + std::to_string(options.depth);
                           return std::string(options.paired ? "paired_channel" : "shared_channel");
                         });

TEST(SendQueue, blocks_the_sender_while_it_is_full_and_says_until_when) {
  Gate gate;
  LocalNetwork network(2, hold_at(gate));
  const auto ranks = make_ranks(network, {.depth = 2});
  const double begin_s = ranks[0]->mark_s();
  std::atomic<int> sent{0};
  std::thread sender([&] {
    for (int i = 0; i < 3; ++i) {
      ranks[0]->send(1);
      ++sent;
    }
  });
  EXPECT_TRUE(gate.wait_for_messages(1));
  kernels::sleep_until_s(kernels::steady_now_s() + 0.05);
  EXPECT_EQ(sent, 2) << "one in transit and one behind it";
  gate.open();
  sender.join();
  EXPECT_GE(ranks[0]->mark_s(), begin_s + 0.05) << "the host could not launch earlier";
}

TEST(SendQueue, takes_messages_of_all_neighbours_one_at_a_time) {
  std::atomic<int> inside{0}, most{0};
  LocalNetwork network(3, [&](int, int, const std::string&, const MessageHeader&) {
    most = std::max(most.load(), ++inside);
    kernels::sleep_until_s(kernels::steady_now_s() + 0.005);
    --inside;
  });
  const auto ranks = make_ranks(network, {.depth = 8});
  std::vector<TransferPtr> receives;
  for (int i = 0; i < 4; ++i) {
    receives.push_back(ranks[0]->receive(1));
    receives.push_back(ranks[2]->receive(1));
    ranks[1]->send(0);
    ranks[1]->send(2);
  }
  for (const TransferPtr& receive : receives) receive->wait(soon());
  EXPECT_EQ(most, 1);
}

TEST(SendQueue, gives_up_on_a_queue_that_never_gets_room) {
  Gate gate;
  LocalNetwork network(2, hold_at(gate));
  const auto ranks = make_ranks(network, {.depth = 1, .deadline_s = 0.1});
  ranks[0]->send(1, 7);
  try {
    ranks[0]->send(1, 8);
    ADD_FAILURE() << "there was no room";
  } catch (const kernels::Error& error) {
    EXPECT_NE(std::string(error.what()).find("send of 1000 bytes (tag 8): rank 0"), std::string::npos)
        << error.what();
  }
  gate.open();
}

TEST(SharedChannel, carries_one_message_at_a_time_in_both_directions_together) {
  std::atomic<int> inside{0}, most{0};
  LocalNetwork network(2, [&](int, int, const std::string& purpose, const MessageHeader&) {
    if (!is_message(purpose)) return;
    most = std::max(most.load(), ++inside);
    kernels::sleep_until_s(kernels::steady_now_s() + 0.003);
    --inside;
  });
  const auto ranks = make_ranks(network, {.model = DirectModel::shared_channel});
  std::vector<TransferPtr> receives;
  for (int i = 0; i < 10; ++i)
    for (const int me : {0, 1}) {
      receives.push_back(ranks[static_cast<std::size_t>(me)]->receive(1 - me));
      ranks[static_cast<std::size_t>(me)]->send(1 - me);
    }
  for (const TransferPtr& receive : receives) receive->wait(soon());
  EXPECT_EQ(most, 1);
}

TEST(SharedChannel, does_not_block_the_sender) {
  Gate gate;
  LocalNetwork network(2, hold_at(gate));
  const auto ranks = make_ranks(network, {.model = DirectModel::shared_channel});
  for (int i = 0; i < 10; ++i) ranks[0]->send(1);
  gate.open();
}

TEST(SharedChannel, lets_paired_transfers_run_at_once) {
  Gate gate;
  LocalNetwork network(2, hold_at(gate));
  const auto ranks = make_ranks(network, {.model = DirectModel::shared_channel, .paired = true});
  for (int i = 0; i < 2; ++i)
    for (const int me : {0, 1}) ranks[static_cast<std::size_t>(me)]->send(1 - me);
  EXPECT_TRUE(gate.wait_for_messages(2));
  gate.open();
  EXPECT_EQ(gate.most(), 2);
}

}  // namespace
}  // namespace tenax::comm
