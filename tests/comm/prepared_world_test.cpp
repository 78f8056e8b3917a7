#include "comm/prepared_world.hpp"

#include <gtest/gtest.h>

#include "tests/comm/thread_ranks.hpp"

namespace tenax::comm {
namespace {

/// Counts the groups that it makes.
class CountingWorld final : public ForwardingWorld {
 public:
  using ForwardingWorld::ForwardingWorld;
  std::unique_ptr<Communicator> split_communicator(const std::string& name, int color, int key,
                                                   kernels::Device& device) override {
    ++made;
    return inner_.split_communicator(name, color, key, device);
  }
  std::unique_ptr<Endpoint> split_direct_endpoint(int color, int key, const std::vector<int>&,
                                                  kernels::Device&, LinkDeadlines) override {
    ++made;
    return inner_.split_endpoint(color, key);
  }
  int made = 0;
};

constexpr double kPatience_s = 60;

void on_prepared_worlds(const std::function<void(PreparedWorld&, CountingWorld&, kernels::Device&)>& body) {
  run_ranks(2, kPatience_s, [&](World& world) {
    const auto device = kernels::create_cpu_device();
    CountingWorld counting(world, {kPatience_s});
    PreparedWorld prepared(counting, {kPatience_s});
    body(prepared, counting, *device);
  });
}

TEST(PreparedWorld, hands_out_once_what_was_made_before) {
  on_prepared_worlds([](PreparedWorld& world, CountingWorld& counting, kernels::Device& device) {
    world.prepare_communicator("data", 0, world.rank(), device, kernels::DType::f32, 4096);
    EXPECT_EQ(counting.made, 1);
    const auto first = world.split_communicator("data", 0, world.rank(), device);
    EXPECT_EQ(counting.made, 1);
    const auto memory = device.allocate(sizeof(float));
    const kernels::Tensor one = memory->tensor(kernels::DType::f32, {1});
    one.as<float>()[0] = static_cast<float>(1 + world.rank());
    const auto stream = device.create_stream();
    first->all_reduce(*stream, one, ReduceOp::sum);
    stream->synchronize(kernels::Deadline::after_s(kPatience_s));
    EXPECT_EQ(one.as<float>()[0], 3);
    const auto second = world.split_communicator("data", 0, world.rank(), device);
    EXPECT_EQ(counting.made, 2);
    EXPECT_EQ(second->size(), 2);
  });
}

TEST(PreparedWorld, makes_what_was_not_prepared_with_these_arguments) {
  on_prepared_worlds([](PreparedWorld& world, CountingWorld& counting, kernels::Device& device) {
    world.prepare_communicator("data", 0, world.rank(), device, kernels::DType::bf16, 4096);
    const auto tensor = world.split_communicator("tensor", 0, world.rank(), device);
    const auto alone = world.split_communicator("data", 7 + world.rank(), 0, device);
    EXPECT_EQ(counting.made, 3);
    EXPECT_EQ(tensor->size(), 2);
    EXPECT_EQ(alone->size(), 1);
  });
}

TEST(PreparedWorld, hands_out_direct_links_likewise) {
  on_prepared_worlds([](PreparedWorld& world, CountingWorld& counting, kernels::Device& device) {
    const int peer = 1 - world.rank();
    world.prepare_direct_endpoint(0, world.rank(), {peer}, device, {});
    const auto first = world.split_direct_endpoint(0, world.rank(), {peer}, device, {});
    EXPECT_EQ(counting.made, 1);
    EXPECT_EQ(first->size(), 2);
    const auto second = world.split_direct_endpoint(0, world.rank(), {peer}, device, {});
    EXPECT_EQ(counting.made, 2);
  });
}

}  // namespace
}  // namespace tenax::comm
