// Links between ranks that are threads.
#include <gtest/gtest.h>

#include "comm/link.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/link_error.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::comm {
namespace {

TEST(Link, messages_of_a_tag_arrive_in_order_whichever_receive_is_looked_at_first) {
  run_ranks(2, 10, [](World& world) {
    const std::unique_ptr<Endpoint> endpoint = world.split_endpoint(0, world.rank());
    HostStream stream;
    Link& link = endpoint->link(1 - world.rank());
    std::vector<std::vector<float>> values(20, std::vector<float>(1));
    std::vector<TransferPtr> transfers;
    for (int i = 0; i < 20; ++i) {
      const Tag tag = i % 2;
      auto& value = values[static_cast<std::size_t>(i)];
      value[0] = world.rank() == 0 ? static_cast<float>(i) : -1.0F;
      transfers.push_back(world.rank() == 0 ? link.send(stream, tensor_of(value), tag)
                                            : link.receive(stream, tensor_of(value), tag));
    }
    for (auto transfer = transfers.rbegin(); transfer != transfers.rend(); ++transfer)
      (*transfer)->wait(kernels::Deadline::after_s(10));
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(values[i][0], static_cast<float>(i));
  });
}

TEST(Link, a_send_does_not_wait_for_its_receive) {
  run_ranks(2, 10, [](World& world) {
    const std::unique_ptr<Endpoint> endpoint = world.split_endpoint(0, world.rank());
    HostStream stream;
    Link& link = endpoint->link(1 - world.rank());
    std::vector<float> mine = contribution<float>(world.rank(), 100000, 1), theirs(100000);
    const TransferPtr send = link.send(stream, tensor_of(mine), 5);
    link.receive(stream, tensor_of(theirs), 5)->wait(kernels::Deadline::after_s(10));
    send->wait(kernels::Deadline::after_s(10));
    EXPECT_EQ(theirs, contribution<float>(1 - world.rank(), 100000, 1));
  });
}

TEST(Link, refuses_a_message_of_another_length) {
  run_ranks(2, 10, [](World& world) {
    const std::unique_ptr<Endpoint> endpoint = world.split_endpoint(0, world.rank());
    HostStream stream;
    std::vector<float> values(world.rank() == 0 ? 3 : 4);
    if (world.rank() == 0) {
      endpoint->link(1).send(stream, tensor_of(values), 0);
      return;
    }
    const std::string message = error_of([&] {
      endpoint->link(0).receive(stream, tensor_of(values), 0)->wait(kernels::Deadline::after_s(10));
    });
    EXPECT_NE(message.find("rank 0"), std::string::npos) << message;
    EXPECT_NE(message.find("sent 12 bytes"), std::string::npos) << message;
  });
}

TEST(Link, a_receive_without_a_sender_ends_with_an_error_that_names_it) {
  run_ranks(2, 10, [](World& world) {
    const std::unique_ptr<Endpoint> endpoint = world.split_endpoint(0, world.rank());
    if (world.rank() == 0) return;
    HostStream stream;
    std::vector<float> values(4);
    const TransferPtr receive = endpoint->link(0).receive(stream, tensor_of(values), 3);
    EXPECT_FALSE(receive->done());
    const std::string message = error_of([&] { receive->wait(kernels::Deadline::after_s(0.1)); });
    EXPECT_NE(message.find("receive of 16 bytes (tag 3): rank 1"), std::string::npos) << message;
    EXPECT_NE(message.find("for rank 0"), std::string::npos) << message;
  });
}

TEST(World, splits_by_color_and_orders_by_key) {
  run_ranks(5, 10, [](World& world) {
    const std::unique_ptr<Endpoint> endpoint = world.split_endpoint(world.rank() % 2, -world.rank());
    EXPECT_EQ(endpoint->size(), world.rank() % 2 == 0 ? 3 : 2);
    EXPECT_EQ(endpoint->rank(), (world.rank() % 2 == 0 ? 4 - world.rank() : 3 - world.rank()) / 2);
    EXPECT_EQ(endpoint->describe(endpoint->rank()),
              "rank " + std::to_string(world.rank()) + " (" + world.host() + ")");
  });
}

TEST(World, a_split_without_all_ranks_ends_with_an_error_that_names_the_missing) {
  run_ranks(3, 0.2, [](World& world) {
    if (world.rank() == 1) return;
    try {
      world.split_endpoint(0, 0);
      ADD_FAILURE() << "a split without rank 1 ended";
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.scope(), kernels::Scope::replica);
      EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
    }
  });
}

}  // namespace
}  // namespace tenax::comm
