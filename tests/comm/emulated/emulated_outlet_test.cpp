// What holds a message up before it is on the wire: a full send queue, a channel shared by both directions.
#include <gtest/gtest.h>

#include "comm/emulated/outlet.hpp"
#include "tests/comm/emulated/emulated_ranks.hpp"

namespace tenax::comm {
namespace {

TEST(Outgoing, is_due_when_its_data_exists_unless_the_host_was_held_up_afterwards) {
  const auto device = kernels::create_emulated_device({});
  const auto stream = device->create_stream();
  Outgoing message;
  message.ready = device->create_event();
  stream->input_arrived(kernels::steady_now_s() + 100);
  stream->record(*message.ready);
  const double ready_s = message.ready->time_s();
  message.asked_s = ready_s + 1e-3;
  EXPECT_EQ(message.due_s(), ready_s) << "the host only woke late";
  message.asked_s = ready_s - 50;
  EXPECT_EQ(message.due_s(), ready_s) << "the host launched ahead";
  message.asked_s = ready_s + 0.1;
  EXPECT_EQ(message.due_s(), message.asked_s);
}

TEST(DirectLink, a_message_counts_as_arrived_when_its_transmission_should_have_ended) {
  std::atomic<double> late_s{-1};
  LocalNetwork network(2, [&](int, int, const std::string&, const MessageHeader& header) {
    late_s = header.late_s;
    kernels::sleep_until_s(kernels::steady_now_s() + 0.02);
  });
  const auto ranks = make_ranks(network, {});
  const TransferPtr receive = ranks[1]->receive(0);
  ranks[0]->send(1);
  receive->wait(soon());
  EXPECT_GE(late_s, 0);
  EXPECT_LE(*receive->timing().arrived_s, kernels::steady_now_s() - late_s);
}

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
  for (const kernels::Deadline latest = soon(); sent < 2 && !latest.expired();)
    kernels::sleep_until_s(kernels::steady_now_s() + 0.001);
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
