#include "app/machine/host_check.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "comm/world.hpp"
#include "kernels/emulated_device.hpp"

namespace tenax::app {
namespace {

constexpr std::size_t kGib = std::size_t{1} << 30;

TEST(MemoryCheck, lets_a_run_start_that_fits_on_every_host) {
  EXPECT_EQ(memory_refusal({{"a", kGib, 3 * kGib}, {"a", 2 * kGib, 3 * kGib}, {"b", kGib, kGib}}), "");
  EXPECT_EQ(memory_refusal({{"a", 0, 0}}), "");
}

TEST(MemoryCheck, names_the_host_that_lacks_memory_for_its_ranks_together) {
  const std::string refusal = memory_refusal({{"roomy", 2 * kGib, 9 * kGib},
                                              {"small", 2 * kGib, 3 * kGib},
                                              {"roomy", 2 * kGib, 9 * kGib},
                                              {"small", 3 * kGib / 2, 13 * kGib / 4}});
  EXPECT_TRUE(
      refusal.starts_with("the run needs 3.5 GiB on small (2 ranks), 3.0 GiB are available; use more hosts"))
      << refusal;
}

TEST(MemoryCheck, does_not_count_what_another_rank_has_garbled) {
  const auto worlds = comm::create_thread_worlds(2, {});
  std::thread other([&] { worlds[1]->control_group()->all_gather("much 100 a"); });
  EXPECT_THROW(check_memory(*worlds[0]->control_group(), {"a", 1, 100}), kernels::Error);
  other.join();
}

TEST(MemoryCheck, refuses_on_all_ranks_alike) {
  auto worlds = comm::create_thread_worlds(2, {5});
  std::vector<std::string> refusals(2);
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      const auto control = worlds[rank]->control_group();
      check_memory(*control, {"host", kGib, 2 * kGib});
      try {
        check_memory(*control, {"host", rank * 2 * kGib, kGib});
      } catch (const comm::AgreedError& error) {
        refusals[rank] = error.what();
        EXPECT_EQ(error.exit_status(), 1);
      }
    });
  threads.clear();
  EXPECT_TRUE(refusals[0].starts_with("the run needs 2.0 GiB on host (2 ranks), 1.0 GiB")) << refusals[0];
  EXPECT_EQ(refusals[0], refusals[1]);
}

TEST(MemoryCheck, counts_what_a_rank_takes_of_its_host) {
  parallel::RankMemory memory;
  memory.activations = 5;
  memory.scratch = 3;
  memory.host_state = 20;
  memory.host_activations = 10;
  EXPECT_EQ(host_bytes(memory, *kernels::create_emulated_device({})), 0U);
  memory.host_state = memory.host_activations = 0;
  EXPECT_EQ(host_bytes(memory, *kernels::create_cpu_device()), 8U);
  parallel::Layout layout;
  layout.grid = {2, 2, 3};
  layout.memory_of_stage = {memory, memory};
  EXPECT_EQ(host_bytes(layout, *kernels::create_cpu_device()), 12 * 8U);
}

}  // namespace
}  // namespace tenax::app
