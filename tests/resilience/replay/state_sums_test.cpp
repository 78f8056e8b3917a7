// Each bit of what ranks hold is in one checksum.
#include "resilience/replay/state_sums.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "tests/comm/thread_ranks.hpp"
#include "tests/parallel/state/small_table.hpp"

namespace tenax::resilience {
namespace {

using kernels::Deadline;
using kernels::DType;
using kernels::Tensor;

constexpr double kDeadline_s = 20;

/// A rank of a data group, of the whole small table.
struct Rank {
  Rank(comm::World& world, DType compute)
      : device(kernels::create_cpu_device()),
        stream(device->create_stream()),
        data(world.split_communicator("data", 0, world.rank(), *device)),
        alone(world.split_communicator("embedding", world.rank(), 0, *device)),
        table(parallel::small_table()),
        state(table, compute, parallel::optimizer_of_name("adamw"), *data, *alone, *device, *stream),
        sums(state, *device, *stream) {}
  std::vector<std::uint64_t> take() { return sums.take(Deadline::after_s(kDeadline_s)); }

  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<kernels::Stream> stream;
  std::unique_ptr<comm::Communicator> data, alone;
  model::ParameterTable table;
  parallel::TrainingState state;
  StateSums sums;
};

/// Which checksums a flip of the last bit of `tensor`'s element `at` changes: [row, part].
std::vector<std::pair<std::size_t, std::string>> changed_by_flip(Rank& rank, const Tensor& tensor,
                                                                 std::int64_t at) {
  const auto before = rank.take();
  auto* const byte =
      static_cast<unsigned char*>(tensor.data) + static_cast<std::size_t>(at) * bytes_of(tensor.dtype);
  *byte ^= 1;
  const auto after = rank.take();
  *byte ^= 1;
  EXPECT_EQ(rank.take(), before);
  std::vector<std::pair<std::size_t, std::string>> changed;
  const auto& parts = rank.sums.parts();
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != after[i]) changed.emplace_back(i / parts.size(), parts[i % parts.size()]);
  return changed;
}

using Changed = std::vector<std::pair<std::size_t, std::string>>;

TEST(StateSums, of_a_rank_that_is_alone_have_no_copies_in_fp32) {
  comm::run_ranks(1, kDeadline_s, [](comm::World& world) {
    Rank rank(world, DType::f32);
    EXPECT_EQ(rank.sums.parts(), (std::vector<std::string>{"weight", "exp_avg", "exp_avg_sq", "gradient"}));
    EXPECT_EQ(rank.sums.tensors(), (std::vector<std::string>{"wte.weight", "h.0.weight", "h.0.bias"}));
    for (const parallel::OwnedState& owned : rank.state.owned()) {
      const auto row = static_cast<std::size_t>(owned.row);
      EXPECT_EQ(changed_by_flip(rank, owned.master, owned.count - 1), (Changed{{row, "weight"}}));
      EXPECT_EQ(changed_by_flip(rank, owned.moments[0], 0), (Changed{{row, "exp_avg"}}));
      EXPECT_EQ(changed_by_flip(rank, owned.moments[1], 7), (Changed{{row, "exp_avg_sq"}}));
      EXPECT_EQ(changed_by_flip(rank, owned.gradient, 3), (Changed{{row, "gradient"}}));
    }
  });
}

TEST(StateSums, see_copies_that_other_ranks_own) {
  comm::run_ranks(2, kDeadline_s, [](comm::World& world) {
    Rank rank(world, DType::f32);
    ASSERT_EQ(rank.sums.parts().back(), "copy");
    for (std::size_t row = 0; row < rank.table.rows().size(); ++row) {
      const Tensor weights = rank.table.view(rank.state.weights(), static_cast<int>(row));
      for (std::int64_t at = 0; at < weights.size(); ++at) {
        const Changed changed = changed_by_flip(rank, weights, at);
        ASSERT_FALSE(changed.empty());
        EXPECT_EQ(changed.back(), (Changed::value_type{row, "copy"}));
        EXPECT_LE(changed.size(), 2U);
      }
    }
  });
}

TEST(StateSums, tell_master_weights_from_what_passes_read_in_bf16) {
  comm::run_ranks(1, kDeadline_s, [](comm::World& world) {
    Rank rank(world, DType::bf16);
    const parallel::OwnedState& owned = rank.state.owned().front();
    const auto row = static_cast<std::size_t>(owned.row);
    EXPECT_EQ(changed_by_flip(rank, owned.master, 0), (Changed{{row, "weight"}}));
    EXPECT_EQ(changed_by_flip(rank, owned.compute, 0), (Changed{{row, "copy"}}));
  });
}

}  // namespace
}  // namespace tenax::resilience
