// A rehearsal, before a device settles what it has chosen, meets what the run's steps will ask for.
#include "parallel/replica/rehearsal.hpp"

#include <gtest/gtest.h>

#include "comm/world.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::parallel {
namespace {

constexpr double kRehearsalLimit_s = 60;

/// 256 rows a microbatch, so that chunks of 100 leave a smaller one.
LayoutRequest request_of(bool recomputes) {
  LayoutRequest request;
  request.model = {.num_layers = 2,
                   .hidden_size = 32,
                   .num_attention_heads = 4,
                   .ffn_hidden_size = 128,
                   .seq_length = 64,
                   .vocab_size = 300,
                   .compute_dtype = kernels::DType::f32};
  request.model.recomputes = recomputes;
  request.microbatch = {4, 64};
  request.microbatches = 2;
  request.policy = &policy_of_name("1f1b");
  return request;
}

void train_one_step(const LayoutRequest& request, const ComputeHabits& habits, kernels::Device& device) {
  constexpr std::size_t kPlenty = std::size_t{1} << 30;
  MemoryRoom room(kPlenty, kPlenty);
  room.habits = habits;
  const Layout layout = plan_layout(request, 1e11, room);
  const auto worlds = comm::create_thread_worlds(1, {kRehearsalLimit_s});
  const std::vector<comm::Peer> nobody;
  GptReplica replica(layout, ProcessGrid(layout.grid),
                     {.options = {}, .world = *worlds.front(), .device = device, .peers = nobody}, {});
  const std::vector<std::int32_t> windows(static_cast<std::size_t>(2 * 4 * (64 + 1)));
  replica.passes({2, windows}, {}, nullptr);
  replica.norm();
}

TEST(Rehearsal, meets_all_products_of_a_step_with_the_same_habits) {
  for (const bool recomputes : {false, true})
    for (const bool fuses_backward : {false, true})
      for (const std::int64_t logit_rows : {100, 256, 4096}) {
        const ComputeHabits habits{logit_rows, fuses_backward};
        const LayoutRequest request = request_of(recomputes);
        kernels::test::ProductsMet products;
        const auto device = kernels::test::create_stand_in({.products = &products});
        rehearse_stage(request, 0, habits, *device, kRehearsalLimit_s);
        const auto rehearsed = products.take();
        train_one_step(request, habits, *device);
        for (const std::string& product : products.take())
          EXPECT_TRUE(rehearsed.contains(product)) << product << ", logits of " << logit_rows << " rows";
      }
}

/// Whose links lend eight multiprocessors to each neighbour, as NCCL's do.
class LendingWorld final : public comm::ForwardingWorld {
 public:
  using ForwardingWorld::ForwardingWorld;
  std::unique_ptr<comm::Communicator> split_communicator(const std::string& name, int color, int key,
                                                         kernels::Device& device) override {
    return inner_.split_communicator(name, color, key, device);
  }
  std::unique_ptr<comm::Endpoint> split_direct_endpoint(int color, int key,
                                                        const std::vector<int>& neighbours,
                                                        kernels::Device& device,
                                                        comm::LinkDeadlines) override {
    device.lend_multiprocessors(8 * static_cast<int>(neighbours.size()));
    return inner_.split_endpoint(color, key);
  }
};

TEST(Rehearsal, lends_as_much_on_every_rank_so_that_a_stage_may_change_places) {
  LayoutRequest request = request_of(false);
  request.grid.pipeline = 3;
  const ProcessGrid grid(request.grid);
  comm::run_ranks(3, kRehearsalLimit_s, [&](comm::World& inner) {
    kernels::test::StandInUse use;
    const auto device = kernels::test::create_stand_in({.use = &use});
    LendingWorld lending(inner, {kRehearsalLimit_s});
    comm::PreparedWorld world(lending, {kRehearsalLimit_s});
    prepare_groups(world, request, grid, PathChoice::automatic, *device, kRehearsalLimit_s);
    EXPECT_EQ(use.lent, 16) << "the middle one's";
    EXPECT_EQ(device->lent_multiprocessors(), 16);
  });
}

TEST(Rehearsal, with_other_habits_misses_the_heads_products) {
  kernels::test::ProductsMet products;
  const auto device = kernels::test::create_stand_in({.products = &products});
  rehearse_stage(request_of(false), 0, {}, *device, kRehearsalLimit_s);
  const auto rehearsed = products.take();
  train_one_step(request_of(false), {.logit_rows = 100, .fuses_backward = true}, *device);
  int missed = 0;
  for (const std::string& product : products.take()) missed += rehearsed.contains(product) ? 0 : 1;
  EXPECT_GE(missed, 3);
}

}  // namespace
}  // namespace tenax::parallel
