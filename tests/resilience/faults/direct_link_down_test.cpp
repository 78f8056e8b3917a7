// Direct links that go down, with messages under way or in mid-iteration, between ranks that are threads.
#include "tests/resilience/faults/injected_ranks.hpp"

namespace tenax::resilience {
namespace {

TEST(DirectLinkDown, fails_a_receive_that_waits) {
  run_injected(2, {direct_down(1, 0)}, [](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    injector.begin_step(0);
    if (world.rank() == 0) return;
    HostStream stream;
    std::vector<float> values(3);
    const TransferPtr receive = endpoint->link(0).receive(stream, tensor_of(values), 0);
    std::thread cutting([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      injector.begin_step(1);
    });
    const Stopwatch stopwatch;
    EXPECT_TRUE(says_down(error_of([&] { receive->wait(soon()); })));
    EXPECT_LT(stopwatch.elapsed_s(), 10);
    cutting.join();
    EXPECT_TRUE(says_down(error_of([&] { receive->done(); })));
  });
}

TEST(DirectLinkDown, fails_a_message_that_is_held_at_both_ends) {
  run_injected(2, {slow(1000), direct_down(1, 0)}, [](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    injector.begin_step(0);
    HostStream stream;
    std::vector<float> values(3);
    Link& link = endpoint->link(1 - world.rank());
    const TransferPtr transfer = world.rank() == 0 ? link.send(stream, tensor_of(values), 0)
                                                   : link.receive(stream, tensor_of(values), 0);
    std::thread cutting([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      injector.begin_step(1);
    });
    EXPECT_TRUE(says_down(error_of([&] { transfer->wait(soon()); })));
    cutting.join();
  });
}

TEST(DirectLinkDown, fails_transfers_while_it_lasts_and_heals_in_order) {
  run_injected(2, {direct_down(1, 2)}, [](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    const auto control = world.control_group();
    HostStream stream;
    Link& link = endpoint->link(1 - world.rank());
    const auto pass = [&](float value) {
      std::vector<float> values = numbers(world.rank() == 0 ? value : -1);
      const TransferPtr transfer = world.rank() == 0 ? link.send(stream, tensor_of(values), 7)
                                                     : link.receive(stream, tensor_of(values), 7);
      transfer->wait(soon());
      EXPECT_EQ(values, numbers(value));
    };
    injector.begin_step(0);
    pass(1);
    control->all_gather({});
    injector.begin_step(1);
    EXPECT_TRUE(says_down(error_of([&] { pass(2); })));
    control->all_gather({});
    injector.begin_step(2);
    pass(3);
  });
}

TEST(DirectLinkDown, comes_in_mid_iteration_and_loses_what_is_under_way) {
  LinkFault fault = direct_down(1, 2);
  fault.passing = 3;
  run_injected(2, {fault}, [](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    const auto control = world.control_group();
    const int rank = world.rank();
    HostStream stream;
    Link& link = endpoint->link(1 - rank);
    std::vector<float> values(3);
    const auto pass = [&](int from, float value) {
      values = numbers(rank == from ? value : -1);
      const TransferPtr transfer =
          rank == from ? link.send(stream, tensor_of(values), 7) : link.receive(stream, tensor_of(values), 7);
      transfer->wait(soon());
      EXPECT_EQ(values, numbers(value));
    };
    injector.begin_step(0);
    for (int i = 0; i < 5; ++i) pass(i % 2, 10 + static_cast<float>(i));  // the step before does not count
    control->all_gather({});
    injector.begin_step(1);
    std::vector<float> waiting(3);
    const TransferPtr under_way = link.receive(stream, tensor_of(waiting), 9);
    pass(0, 1);
    pass(1, 2);
    EXPECT_FALSE(under_way->done());
    if (rank == 0) {
      EXPECT_TRUE(says_down(error_of([&] { pass(0, 3); })));  // left, but who sent it cannot know
    } else {
      pass(0, 3);
    }
    EXPECT_TRUE(says_down(error_of([&] { under_way->done(); })));
    EXPECT_TRUE(says_down(error_of([&] { pass(1, 4); })));
    control->all_gather({});
  });
}

TEST(DirectLinkDown, comes_to_nobody_who_has_received_nothing) {
  LinkFault fault = direct_down(0, 0);
  fault.passing = 2;
  run_injected(2, {fault}, [](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    const auto control = world.control_group();
    injector.begin_step(0);
    HostStream stream;
    std::vector<float> values = numbers(1);
    if (world.rank() == 0)
      for (int i = 0; i < 5; ++i) endpoint->link(1).send(stream, tensor_of(values), i)->wait(soon());
    control->all_gather({});
  });
}

TEST(DirectLinkDown, leaves_a_link_unusable_on_which_messages_were_under_way_but_not_a_new_endpoint) {
  run_injected(2, {direct_down(1, 2)}, [](World& world, FaultInjector& injector) {
    auto endpoint = world.split_endpoint(0, world.rank());
    const auto control = world.control_group();
    HostStream stream;
    std::vector<float> values(3);
    injector.begin_step(0);
    TransferPtr lost = endpoint->link(1 - world.rank()).receive(stream, tensor_of(values), 0);
    control->all_gather({});
    injector.begin_step(1);
    EXPECT_TRUE(says_down(error_of([&] { lost->done(); })));
    lost.reset();
    injector.begin_step(2);
    const auto receive = [&] {
      return endpoint->link(1 - world.rank()).receive(stream, tensor_of(values), 1);
    };
    EXPECT_TRUE(says_down(error_of([&] { receive()->done(); })));
    endpoint = world.split_endpoint(0, world.rank());
    std::vector<float> mine = numbers(static_cast<float>(world.rank()));
    const TransferPtr again = receive();
    endpoint->link(1 - world.rank()).send(stream, tensor_of(mine), 1)->wait(soon());
    again->wait(soon());
    EXPECT_EQ(values, numbers(static_cast<float>(1 - world.rank())));
  });
}

}  // namespace
}  // namespace tenax::resilience
