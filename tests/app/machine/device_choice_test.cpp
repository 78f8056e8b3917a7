#include "app/machine/device_choice.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "kernels/emulated_device.hpp"
#include "kernels/forwarding_device.hpp"

namespace tenax::app {
namespace {

/// A GPU, or a slice of one.
class Gpu final : public kernels::ForwardingDevice<kernels::Device> {
 public:
  explicit Gpu(std::string memory) : ForwardingDevice(kernels::create_emulated_device({})), memory_(memory) {}
  kernels::Kernels& kernels() override { return inner().kernels(); }
  std::string memory_id() const override { return memory_; }

 private:
  std::string memory_;
};

/// What each of the ranks of one host that see these devices finds out.
std::vector<int> sharing(const std::vector<std::string>& memory_of_rank) {
  const auto worlds = comm::create_thread_worlds(static_cast<int>(memory_of_rank.size()), {});
  std::vector<int> found(memory_of_rank.size());
  std::vector<std::jthread> ranks;
  for (std::size_t rank = 0; rank < found.size(); ++rank)
    ranks.emplace_back([&, rank] {
      const auto control = worlds[rank]->control_group();
      found[rank] = ranks_sharing(Gpu(memory_of_rank[rank]), *worlds[rank], *control);
    });
  ranks.clear();
  return found;
}

TEST(RanksSharing, a_gpu_are_those_that_see_it_however_many_each_of_them_sees) {
  EXPECT_EQ(sharing({"a", "b", "c", "d"}), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(sharing({"a", "a", "a"}), (std::vector<int>{3, 3, 3}));
  EXPECT_EQ(sharing({"a", "b", "a"}), (std::vector<int>{2, 1, 2}));
}

TEST(RanksSharing, the_hosts_memory_are_all_of_the_host) {
  const auto worlds = comm::create_thread_worlds(3, {});
  std::vector<std::jthread> ranks;
  for (const auto& world : worlds)
    ranks.emplace_back([&world] {
      EXPECT_EQ(ranks_sharing(*kernels::create_cpu_device(), *world, *world->control_group()), 3);
    });
}

TEST(SlotOf, ranks_of_one_host_counts_on_from_what_the_supervisor_gave_the_first_of_them) {
  const auto worlds = comm::create_thread_worlds(3, {});
  std::vector<std::jthread> ranks;
  for (const auto& world : worlds)
    ranks.emplace_back([&world] {
      const auto control = world->control_group();
      EXPECT_EQ(slot_of(*world, *control, {}), world->rank());
      EXPECT_EQ(slot_of(*world, *control, {4, 5, 6}), 4 + world->rank());
      EXPECT_EQ(slot_of(*world, *control, {4, 5, 0}), 4 + world->rank()) << "not put where it was said";
    });
}

}  // namespace
}  // namespace tenax::app
