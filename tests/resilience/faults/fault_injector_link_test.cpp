// Links and collectives between ranks that are threads, through the injector.
#include "tests/resilience/faults/injected_ranks.hpp"

namespace tenax::resilience {
namespace {

TEST(InjectedLink, delays_both_directions_and_frees_the_sender_when_the_message_arrives) {
  run_injected(2, {slow(0.05)}, [](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    const auto control = world.control_group();
    injector.begin_step(0);
    HostStream stream;
    Link& link = endpoint->link(1 - world.rank());
    std::vector<float> mine = numbers(static_cast<float>(world.rank())), theirs = numbers(-1);
    control->all_gather({});
    const Stopwatch stopwatch;
    const TransferPtr send = link.send(stream, tensor_of(mine), 4);
    const TransferPtr receive = link.receive(stream, tensor_of(theirs), 4);
    send->wait(soon());
    EXPECT_GE(stopwatch.elapsed_s(), 0.05);
    receive->wait(soon());
    EXPECT_TRUE(receive->done());
    EXPECT_EQ(theirs, numbers(static_cast<float>(1 - world.rank())));
  });
}

TEST(InjectedLink, lets_a_message_arrive_no_earlier_than_its_delay_after_its_send) {
  std::atomic<LinkFaults::Clock::rep> sent_at{0};
  run_injected(2, {slow(0.05)}, [&](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    injector.begin_step(0);
    HostStream stream;
    std::vector<float> values = numbers(5);
    if (world.rank() == 0) {
      sent_at = LinkFaults::Clock::now().time_since_epoch().count();
      endpoint->link(1).send(stream, tensor_of(values), 0)->wait(soon());
      return;
    }
    const TransferPtr receive = endpoint->link(0).receive(stream, tensor_of(values), 0);
    while (!receive->done()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    const auto took = LinkFaults::Clock::now().time_since_epoch() - LinkFaults::Clock::duration(sent_at);
    EXPECT_GE(took, std::chrono::milliseconds(49));
  });
}

TEST(InjectedLink, carries_one_message_at_a_time_in_the_order_of_their_sends) {
  constexpr int kMessages = 6;
  run_injected(2, {slow(0.02)}, [](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    const auto control = world.control_group();
    injector.begin_step(0);
    HostStream stream;
    Link& link = endpoint->link(1 - world.rank());
    std::vector<std::vector<float>> values(kMessages, numbers(-1));
    std::vector<TransferPtr> transfers;
    control->all_gather({});
    const Stopwatch stopwatch;
    for (int i = 0; i < kMessages; ++i) {
      auto& value = values[static_cast<std::size_t>(i)];
      if (world.rank() == 0) value = numbers(static_cast<float>(i));
      transfers.push_back(world.rank() == 0 ? link.send(stream, tensor_of(value), i % 2)
                                            : link.receive(stream, tensor_of(value), i % 2));
    }
    if (world.rank() == 0) {
      for (int i = 0; i < kMessages; ++i) {
        transfers[static_cast<std::size_t>(i)]->wait(soon());
        EXPECT_GE(stopwatch.elapsed_s(), 0.02 * (i + 1));
      }
    }
    for (auto transfer = transfers.rbegin(); transfer != transfers.rend(); ++transfer)
      (*transfer)->wait(soon());
    for (int i = 0; i < kMessages; ++i)
      EXPECT_EQ(values[static_cast<std::size_t>(i)], numbers(static_cast<float>(i)));
  });
}

TEST(InjectedLink, refuses_a_message_of_another_length_as_the_link_below_does) {
  run_injected(2, {slow(0.001)}, [](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    injector.begin_step(0);
    HostStream stream;
    std::vector<float> values(world.rank() == 0 ? 3 : 4);
    if (world.rank() == 0) {
      endpoint->link(1).send(stream, tensor_of(values), 0)->wait(soon());
      return;
    }
    const std::string message =
        error_of([&] { endpoint->link(0).receive(stream, tensor_of(values), 0)->wait(soon()); });
    EXPECT_NE(message.find("sent 12 bytes"), std::string::npos) << message;
  });
}

TEST(InjectedLink, says_who_it_waited_for_in_vain) {
  run_injected(2, {slow(0.001)}, [](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    injector.begin_step(0);
    if (world.rank() == 0) return;
    HostStream stream;
    std::vector<float> values(4);
    const TransferPtr receive = endpoint->link(0).receive(stream, tensor_of(values), 3);
    const std::string message = error_of([&] { receive->wait(Deadline::after_s(0.1)); });
    EXPECT_NE(message.find("receive of 16 bytes (tag 3)"), std::string::npos) << message;
    EXPECT_NE(message.find("rank 0"), std::string::npos) << message;
  });
}

TEST(InjectedLink, leaves_other_links_other_steps_and_the_control_plane_alone) {
  run_injected(3, {slow(1000, 1)}, [](World& world, FaultInjector& injector) {
    const auto endpoint = world.split_endpoint(0, world.rank());
    const auto control = world.control_group();
    HostStream stream;
    std::vector<float> values = numbers(1);
    const auto pass = [&](int from, int to) {
      if (world.rank() == from) endpoint->link(to).send(stream, tensor_of(values), 0)->wait(soon());
      if (world.rank() == to) endpoint->link(from).receive(stream, tensor_of(values), 0)->wait(soon());
    };
    injector.begin_step(0);
    pass(0, 1);
    injector.begin_step(1);
    pass(1, 2);
    pass(2, 0);
    control->all_gather({});
  });
}

/// Four ranks in two groups, {0, 1} with the bad link; returns how long the slowest rank of each took, after
/// checking the sums.
std::array<double, 2> all_reduce(const std::vector<LinkFault>& faults, std::int64_t elements) {
  std::array<std::atomic<double>, 2> took_s{};
  run_injected(4, faults, [&](World& world, FaultInjector& injector) {
    const auto device = kernels::create_cpu_device();
    const auto stream = device->create_stream();
    const int group = world.rank() / 2;
    const auto communicator = world.split_communicator("data", group, world.rank(), *device);
    injector.begin_step(0);
    std::vector<float> values(static_cast<std::size_t>(elements), static_cast<float>(world.rank() + 1));
    const Stopwatch stopwatch;
    communicator->all_reduce(*stream, tensor_of(values), comm::ReduceOp::sum);
    took_s[static_cast<std::size_t>(group)] = stopwatch.elapsed_s();
    const float sum = group == 0 ? 3.0F : 7.0F;
    EXPECT_EQ(values, std::vector<float>(values.size(), sum));
  });
  return {took_s[0], took_s[1]};
}

TEST(InjectedCollective, waits_for_the_slow_link_of_its_group_and_other_groups_do_not) {
  const auto took_s = all_reduce({slow(2)}, 10);
  EXPECT_GE(took_s[0], 2);
  EXPECT_LT(took_s[1], 2);
}

TEST(InjectedCollective, feels_every_packet_of_a_large_message) {
  LinkFault fault = slow(0);
  fault.per_packet_s = 0.01;
  fault.packet_bytes = 100'000;
  EXPECT_GE(all_reduce({fault}, 500'000)[0], 0.1);  // half of 2 MB, there and back
}

TEST(InjectedCollective, outlives_the_direct_path_which_is_the_pipelines) {
  all_reduce({direct_down(0, 0)}, 10);
}

}  // namespace
}  // namespace tenax::resilience
