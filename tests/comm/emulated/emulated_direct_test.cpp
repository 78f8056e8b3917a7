// The emulated device's direct links in every model, ranks as threads over a network that delays messages.
#include <gtest/gtest.h>

#include <cstring>

#include "comm/forwarding_transport.hpp"
#include "tests/comm/emulated/emulated_ranks.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::DType;
using kernels::Tensor;

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

/// At each peer's first address nobody is, and nothing says so.
class BlackHole final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  static constexpr const char* kAddress = "hole";

  std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                      const std::string& purpose, Deadline deadline) override {
    if (address != kAddress) return inner().connect(peer, address, purpose, deadline);
    std::this_thread::sleep_until(deadline.when());
    throw kernels::Error(kernels::Scope::link, "nobody answers there");
  }
};

TEST(EmulatedDirect, reaches_a_peer_before_the_deadline_though_its_first_address_swallows_everything) {
  LocalNetwork network(2);
  std::vector<Peer> peers = network.peers();
  for (Peer& peer : peers) peer.addresses.insert(peer.addresses.begin(), BlackHole::kAddress);
  const auto device = kernels::create_emulated_device({});
  std::vector<std::thread> threads;
  for (const int me : {1, 0})
    threads.emplace_back([&, me] {
      if (me == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));  // its peer waits already
      BlackHole transport(network.create_transport(me));
      EXPECT_NO_THROW(create_emulated_direct_endpoint("pipeline", peers, me, {1 - me}, transport, *device,
                                                      {.deadline_s = 4}));
    });
  for (std::thread& thread : threads) thread.join();
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

}  // namespace
}  // namespace tenax::comm
