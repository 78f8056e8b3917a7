#include "resilience/checkpoint/checkpoint_restore.hpp"
#include "resilience/checkpoint/checkpoint_save.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/resilience/checkpoint/sharded_state.hpp"

namespace tenax::resilience {
namespace {

using comm::World;
using io::kTinyModel;

// Tensor × pipeline × data. With 13 words of the vocabulary every tensor cut is padded.
constexpr TestLayout kLayouts[] = {{1, 1, 1}, {2, 1, 1}, {4, 1, 2}, {1, 2, 3}, {2, 2, 2}, {1, 1, 7}};

class CheckpointLayout : public io::DirectoryTest {
 protected:
  std::filesystem::path save(TestLayout layout, const std::string& name) {
    const std::filesystem::path directory = directory_ / name;
    std::filesystem::create_directory(directory);
    SaveRequest request;
    request.directory = directory;
    request.step = 12;
    request.model = kTinyModel;
    request.deck = "[run]\n";
    comm::run_ranks(layout.ranks(), 20, [&](World& world) {
      ShardedState state(kTinyModel, layout, world.rank());
      state.fill();
      const SaveReport report = save_checkpoint(*world.control_group(), request, state.ranges());
      EXPECT_TRUE(report.saved()) << report.failure;
      EXPECT_EQ(report.file, directory / "step-000012.h5");
      EXPECT_EQ(report.bytes, static_cast<std::int64_t>(std::filesystem::file_size(report.file)));
    });
    return directory / "step-000012.h5";
  }
};

TEST_F(CheckpointLayout, does_not_show_in_the_file) {
  const std::string expected = io::read_file(save(kLayouts[0], "0"));
  EXPECT_GT(expected.size(), 10000U);
  for (std::size_t i = 1; i < std::size(kLayouts); ++i) {
    EXPECT_TRUE(io::read_file(save(kLayouts[i], std::to_string(i))) == expected) << "layout " << i;
  }
}

TEST_F(CheckpointLayout, may_be_any_other_when_it_is_read_back_bit_for_bit) {
  const auto file = save({2, 2, 2}, "all");
  for (const TestLayout& layout : kLayouts) {
    comm::run_ranks(layout.ranks(), 20, [&](World& world) {
      ShardedState state(kTinyModel, layout, world.rank());
      state.poison();
      EXPECT_GT(state.wrong(), 0);
      const auto group = world.control_group();
      const io::CheckpointInfo info = restore_checkpoint(*group, file, state.ranges(), kTinyModel);
      EXPECT_EQ(info.step, 12);
      EXPECT_EQ(state.wrong(), 0) << "rank " << world.rank() << " of " << layout.tensor << layout.pipeline
                                  << layout.data;
    });
  }
}

TEST_F(CheckpointLayout, is_kept_out_of_a_damaged_file_on_every_rank) {
  const auto file = save({1, 1, 1}, "one");
  const std::string bytes = io::read_file(file);
  for (const std::size_t at : {std::size_t{30}, std::size_t{5000}, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    io::write_file(file, damaged);
    comm::run_ranks(3, 20, [&](World& world) {
      const auto group = world.control_group();
      const std::string error = io::error_of([&] { CheckpointReader(*group, file); });
      EXPECT_NE(error.find(file.string()), std::string::npos) << "byte " << at << ": " << error;
    });
  }
}

TEST_F(CheckpointLayout, of_another_model_is_refused_on_every_rank) {
  const auto file = save({1, 1, 1}, "one");
  io::ModelSizes other = kTinyModel;
  other.num_attention_heads = 2;
  comm::run_ranks(2, 20, [&](World& world) {
    const auto group = world.control_group();
    ShardedState state(kTinyModel, {2, 1, 1}, world.rank());
    const std::string error = io::error_of([&] { restore_checkpoint(*group, file, state.ranges(), other); });
    EXPECT_EQ(error, file.string() + " holds another model: its num_attention_heads is 4, but should be 2");
  });
}

TEST_F(CheckpointLayout, may_ask_for_weights_alone) {
  const auto file = save({2, 1, 1}, "two");
  comm::run_ranks(1, 20, [&](World& world) {
    const auto group = world.control_group();
    ShardedState state(kTinyModel, {1, 1, 1}, 0);
    std::vector<io::StateRange> weights = state.ranges();
    for (io::StateRange& range : weights) range.parts.resize(1);
    restore_checkpoint(*group, file, weights, kTinyModel);
    for (const io::StateRange& range : weights) {
      ASSERT_EQ(range.weights()[range.count - 1], io::state_value(range.name, 0, range.count - 1));
    }
  });
}

}  // namespace
}  // namespace tenax::resilience
