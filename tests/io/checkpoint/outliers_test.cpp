#include "io/checkpoint/outliers.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "io/checkpoint/checkpoint_inspect.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::io {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(SizeCensus, tells_the_median_of_numbers_that_are_not_zero_to_within_a_percent) {
  std::mt19937 random(1);
  std::lognormal_distribution<float> sizes(-3, 2);
  std::vector<float> numbers(10001), sorted;
  for (float& number : numbers) number = (random() % 2 == 0 ? 1.0F : -1.0F) * sizes(random);
  for (const float number : numbers) sorted.push_back(std::fabs(number));
  std::sort(sorted.begin(), sorted.end());
  SizeCensus census;
  census.add(numbers);
  census.add(std::vector<float>(30000, 0.0F));
  EXPECT_NEAR(census.median(), sorted[5000], 0.01F * sorted[5000]);
  EXPECT_EQ(census.largest(), sorted.back());
  EXPECT_EQ(SizeCensus().median(), 0);
}

TEST(SizeCensus, leaves_what_is_not_finite_out_of_the_median) {
  SizeCensus census;
  census.add(std::vector<float>{1, 1, std::nanf(""), kInfinity, -kInfinity});
  EXPECT_EQ(census.median(), 1);
  EXPECT_EQ(census.largest(), kInfinity);
}

TEST(OutlierSearch, joins_neighbours_to_stretches_over_the_bounds_of_pieces) {
  std::vector<float> numbers(100, 1.0F);
  for (int i = 30; i < 62; ++i) numbers[static_cast<std::size_t>(i)] = -5e6F;
  numbers[40] = 2;  // one of them is as usual
  numbers[90] = std::nanf("");
  OutlierSearch search(1e3F);
  search.add(std::span(numbers).first(37), 0);
  search.add(std::span(numbers).subspan(37), 37);
  EXPECT_EQ(search.stretches(), (std::vector<OutlierStretch>{{30, 62, 5e6F}, {90, 91, kInfinity}}));
}

class Outliers : public DirectoryTest {
 protected:
  Outliers() {
    std::mt19937 random(2);
    std::normal_distribution<float> sizes(0, 0.02F);
    for (std::vector<float>& values : state_.memory)
      for (float& value : values) value = sizes(random);
    for (StateRange& range : state_.ranges) {  // squares have a wider range of their own
      float* const squares = range.parts[2].data;
      for (std::int64_t i = 0; i < range.count; ++i) squares[i] = squares[i] * squares[i] * 1e-4F;
    }
  }
  float* part_of(const std::string& name, std::size_t part) {
    for (StateRange& range : state_.ranges)
      if (range.name == name) return range.parts[part].data;
    throw std::invalid_argument(name);
  }
  std::string listing() {
    const auto file = directory_ / "outliers.h5";
    CheckpointInfo info;
    info.model = kTinyModel;
    write_checkpoint(file, info, state_.ranges);
    return inspect(file);
  }
  static void expect_in(const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  WholeState state_{kTinyModel};
};

TEST_F(Outliers, are_none_where_numbers_are_as_training_leaves_them) {
  expect_in("outliers            no stretch beyond 1,000 x its tensor's median size\n", listing());
}

TEST_F(Outliers, are_listed_with_dataset_and_place) {
  float* const spiked = part_of("h.1.mlp.c_fc.weight", 0);
  for (int i = 96; i < 128; ++i) spiked[i] = 3e7F;
  part_of("wte.weight", 1)[5] = -kInfinity;
  part_of("wpe.weight", 2)[7] = 1e4F;
  const std::string text = listing();
  expect_in("outliers            3 stretches beyond", text);
  expect_in("\n    /model/h.1.mlp.c_fc.weight[96:128]  up to 3e+07, median 0.01", text);
  expect_in("\n    /optimizer/exp_avg/wte.weight[5:6]  up to inf, median 0.01", text);
  expect_in("\n    /optimizer/exp_avg_sq/wpe.weight[7:8]  up to 1e+04", text);
}

TEST_F(Outliers, of_squares_are_judged_by_their_roots) {
  float* const squares = part_of("h.0.mlp.c_fc.weight", 2);
  squares[3] = 1e-3F;  // some 1e5 x the median of the squares
  expect_in("outliers            no stretch", listing());
  squares[3] = 1;
  expect_in("/optimizer/exp_avg_sq/h.0.mlp.c_fc.weight[3:4]", listing());
}

TEST_F(Outliers, beyond_twenty_are_counted) {
  for (int i = 0; i < 8; ++i) part_of("h.0.mlp.c_fc.weight", 0)[32 * i] = 1e9F;
  for (int i = 0; i < 8; ++i) part_of("h.1.mlp.c_fc.weight", 0)[32 * i] = 1e9F;
  for (int i = 0; i < 8; ++i) part_of("h.1.mlp.c_proj.weight", 0)[32 * i] = 1e9F;
  const std::string text = listing();
  expect_in("outliers            24 stretches", text);
  expect_in("\n    and 4 more\n", text);
}

}  // namespace
}  // namespace tenax::io
