// How matrix products are cut: by trials, by what a file kept of earlier ones, with the usual bits.
#include "kernels/cpu/product_cuts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "kernels/cpu/cut_trial.hpp"
#include "kernels/cpu/fp32_matrix.hpp"
#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/product_trial.hpp"
#include "tests/kernels/matmul_values.hpp"

namespace tenax::kernels {
namespace {

namespace fs = std::filesystem;

/// A product whose cuts take given times and write given bits.
class FakeProduct {
 public:
  void takes(const ProductCut& cut, double seconds, std::uint64_t bits = 7) {
    cuts_.push_back(cut);
    costs_.emplace_back(seconds, bits);
  }
  ProductCut fastest(double slow_s = 1) { return fastest_cut(cuts_, trial(), slow_s); }
  int runs() const { return runs_; }

 private:
  CutTrial trial() {
    return {.run =
                [this](const ProductCut& cut) {
                  EXPECT_TRUE(is_restored_);
                  const auto index = std::find(cuts_.begin(), cuts_.end(), cut) - cuts_.begin();
                  const auto& [seconds, bits] = costs_[static_cast<std::size_t>(index)];
                  now_s_ += seconds;
                  bits_ = bits;
                  is_restored_ = false;
                  ++runs_;
                },
            .restore = [this] { is_restored_ = true; },
            .checksum = [this] { return bits_; },
            .now_s = [this] { return now_s_; }};
  }

  std::vector<ProductCut> cuts_;
  std::vector<std::pair<double, std::uint64_t>> costs_;
  double now_s_ = 0;
  std::uint64_t bits_ = 0;
  bool is_restored_ = false;
  int runs_ = 0;
};

TEST(CutTrial, takes_the_fastest_of_those_that_write_the_usual_bits) {
  FakeProduct product;
  product.takes({0, 0}, 0.10);
  product.takes({0, 512}, 0.01, 8);
  product.takes({384, 0}, 0.09);
  product.takes({256, 0}, 0.08);
  product.takes({128, 0}, 0.20);
  EXPECT_EQ(product.fastest(), (ProductCut{256, 0}));
}

TEST(CutTrial, stays_with_the_usual_cut_where_others_are_hardly_faster) {
  FakeProduct product;
  product.takes({384, 0}, 0.100);
  product.takes({256, 0}, 0.098);
  EXPECT_EQ(product.fastest(), (ProductCut{384, 0}));
}

TEST(CutTrial, runs_a_slow_product_no_more_than_twice) {
  FakeProduct product;
  product.takes({384, 0}, 2.0);
  product.takes({256, 0}, 0.1);
  EXPECT_EQ(product.fastest(), (ProductCut{384, 0}));
  EXPECT_EQ(product.runs(), 2);
}

// A library whose sums have another order where rows are fewer, in a product of more rows than are tried.
TEST(ProductTrial, takes_no_cut_that_writes_the_usual_bits_in_the_tried_part_alone) {
  constexpr std::int64_t kRows = 768, kColumns = 3072, kInner = 2048;
  std::vector<float> values(kRows * kColumns, 3);
  const Product whole{{nullptr, DType::f32, kRows, kInner, kInner, false},
                      {nullptr, DType::f32, kInner, kColumns, kInner, true},
                      {values.data(), DType::f32, kRows, kColumns, kColumns, false},
                      true,
                      nullptr};
  const ProductCut usual{384, 0};
  bool was_tried_whole = false;
  const auto run = [&](const Product& product, const ProductCut& cut) {
    EXPECT_EQ(values.front(), 3) << "what it adds to has been restored";
    const bool is_whole = product.c.rows == kRows;
    was_tried_whole |= is_whole && cut != usual;
    values.front() += is_whole ? static_cast<float>(piece_of(kRows, cut.rows)) : 1;
    if (cut == usual) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  EXPECT_EQ(try_cuts(whole, usual, run), usual);
  EXPECT_TRUE(was_tried_whole);
  EXPECT_EQ(values.front(), 3);
}

class CutFileTest : public ::testing::Test {
 protected:
  CutFileTest() { fs::remove_all(folder_); }
  ~CutFileTest() override { fs::remove_all(folder_); }
  void write(const std::string& text) {
    fs::create_directories(folder_);
    std::ofstream(file_) << text;
  }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(file_).rdbuf();
    return text.str();
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("cut_file_test." + std::to_string(getpid()));
  const fs::path file_ = folder_ / "cuts.txt";
};

TEST_F(CutFileTest, keeps_choices_of_each_machine_apart) {
  CutFile one(file_, "processor A, oneDNN 2.6.3"), other(file_, "processor A, oneDNN 3.1.0");
  one.add("f32 1x2x3", {384, 0});
  other.add("f32 1x2x3", {0, 512});
  other.add("f32 4x5x6", {128, 512});
  other.add("f32 7x8x9", kUsualCut);
  other.add("f32 8x8x8", kUsualCutPacked);
  using Choices = std::map<std::string, ProductCut>;
  EXPECT_EQ(CutFile(file_, "processor A, oneDNN 2.6.3").read(), (Choices{{"f32 1x2x3", {384, 0}}}));
  EXPECT_EQ(CutFile(file_, "processor A, oneDNN 3.1.0").read(), (Choices{{"f32 1x2x3", {0, 512}},
                                                                         {"f32 4x5x6", {128, 512}},
                                                                         {"f32 7x8x9", kUsualCut},
                                                                         {"f32 8x8x8", kUsualCutPacked}}));
  EXPECT_EQ(CutFile(file_, "processor B").read(), Choices{});
  EXPECT_EQ(one.note() + other.note(), "");
}

TEST_F(CutFileTest, keeps_the_first_choice) {
  CutFile(file_, "A").add("product", {384, 0});
  CutFile(file_, "A").add("product", {128, 0});
  EXPECT_EQ(CutFile(file_, "A").read().at("product"), (ProductCut{384, 0}));
}

TEST_F(CutFileTest, replaces_what_an_earlier_tenax_kept) {
  for (const std::string number : {"1", "2"}) {
    write("tenax: how processors cut matrix products (" + number + ")\nA | product | 384 x 0\n");
    CutFile file(file_, "A");
    EXPECT_TRUE(file.read().empty());
    file.add("product", kUsualCutPacked);
    EXPECT_EQ(CutFile(file_, "A").read().at("product"), kUsualCutPacked);
    EXPECT_EQ(file.note(), "");
  }
}

TEST_F(CutFileTest, leaves_files_that_are_damaged_or_others_as_they_are_and_says_so) {
  CutFile(file_, "A").add("product", {384, 0});
  const std::string good = text();
  const std::string zeros(100, '\0');
  for (const std::string& bad :
       {std::string(), std::string("something else\n"),
        std::string("tenax: how processors cut matrix products (4)\n"), good.substr(0, good.size() - 3),
        good + "A | other | 384 x\n", good + "A | other | -1 x 0\n", good + zeros,
        good + "A | other | 385 x 0\n", std::string(2 << 20, 'x')}) {
    write(bad);
    CutFile file(file_, "A");
    EXPECT_TRUE(file.read().empty()) << bad.substr(0, 200);
    EXPECT_NE(file.note().find("cuts.txt"), std::string::npos) << bad.substr(0, 200);
    file.add("another", {256, 0});
    EXPECT_EQ(text(), bad);
  }
}

TEST_F(CutFileTest, goes_without_a_file_where_it_cannot_write) {
  write("in the way");
  CutFile file(file_ / "tenax" / "cuts.txt", "A");
  EXPECT_TRUE(file.read().empty());
  file.add("product", {384, 0});
  file.add("other", {384, 0});
  EXPECT_NE(file.note().find("cannot be written"), std::string::npos) << file.note();
  CutFile nowhere({}, "A");
  nowhere.add("product", {384, 0});
  EXPECT_TRUE(nowhere.read().empty());
  EXPECT_EQ(nowhere.note(), "");
}

TEST_F(CutFileTest, is_whole_whenever_it_is_read_while_several_write) {
  constexpr int kWriters = 3, kProducts = 40;
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < kWriters; ++writer)
    writers.emplace_back([&, writer] {
      for (int i = 0; i < kProducts; ++i)
        CutFile(file_, "machine " + std::to_string(writer)).add("product " + std::to_string(i), {256, 1024});
    });
  for (int i = 0; i < kWriters * kProducts; ++i) {
    CutFile reader(file_, "machine 0");
    reader.read();
    ASSERT_EQ(reader.note(), "");
  }
  writers.clear();
  std::size_t kept = 0;  // of some machine: a writer may put back what it had read before another wrote
  for (int writer = 0; writer < kWriters; ++writer)
    kept += CutFile(file_, "machine " + std::to_string(writer)).read().size();
  EXPECT_GT(kept, 0U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "temporary files are left";
}

/// Products of one shape by some cuts.
class CutProducts {
 public:
  static constexpr std::int64_t kRows = 520, kColumns = 1100, kInner = 96;  // 55 million multiply-adds

  CutProducts(DType input, DType output, bool transpose_a, bool transpose_b, bool accumulate)
      : a_(input, kRows * kInner, 1),
        b_(input, kInner * kColumns, 2),
        before_(output, kRows * kColumns, 3),
        args_{.a = a_.tensor(transpose_a ? Shape{kInner, kRows} : Shape{kRows, kInner}),
              .b = b_.tensor(transpose_b ? Shape{kColumns, kInner} : Shape{kInner, kColumns}),
              .c = {},
              .transpose_a = transpose_a,
              .transpose_b = transpose_b,
              .bias = {},
              .accumulate = accumulate} {}

  using Bits = std::vector<std::byte>;
  Bits bits(ProductCuts* cuts) const {
    const Values c = before_;
    MatmulArgs args = args_;
    args.c = c.tensor({kRows, kColumns});
    CpuMatmul(nullptr, cuts).run(args);
    return c.bytes();
  }
  Bits bits_of_pieces(std::int64_t rows) const {
    const Values c = before_;
    CpuMatmul matmul;
    const Product whole = product(c);
    for (std::int64_t row = 0; row < kRows; row += rows) {
      const Product piece = part_of(whole, row, 0, rows, kColumns);
      matmul.product(piece.a, piece.b, piece.c, piece.accumulate);
    }
    return c.bytes();
  }
  ProductShape shape() const { return shape_of(product(before_), 1); }

 private:
  Product product(const Values& c) const {
    const DType input = args_.a.dtype, output = c.tensor({1}).dtype;
    return {{args_.a.data, input, kRows, kInner, args_.transpose_a ? kRows : kInner, args_.transpose_a},
            {args_.b.data, input, kInner, kColumns, args_.transpose_b ? kInner : kColumns, args_.transpose_b},
            {c.tensor({1}).data, output, kRows, kColumns, kColumns, false},
            args_.accumulate,
            nullptr};
  }

  Values a_, b_, before_;
  MatmulArgs args_;
};

TEST(ProductCuts, that_trials_have_chosen_change_no_bit) {
  for (const auto& [input, output] : {std::pair{DType::f32, DType::f32}, std::pair{DType::bf16, DType::bf16},
                                      std::pair{DType::bf16, DType::f32}})
    for (const int layout : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const CutProducts products(input, output, layout & 1, layout & 2, layout & 4);
      ProductCuts cuts({}, "this machine");
      const auto usual = products.bits(nullptr);
      EXPECT_EQ(products.bits(&cuts), usual) << products.shape().text() << ", tried";
      EXPECT_TRUE(cuts.find(products.shape())) << products.shape().text();
      EXPECT_EQ(products.bits(&cuts), usual) << products.shape().text() << ", known";
    }
}

TEST(ProductCuts, are_taken_from_the_file_without_a_trial) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("product_cuts_test." + std::to_string(getpid()));
  const fs::path file = folder / "cuts.txt";
  fs::remove_all(folder);
  const CutProducts products(DType::f32, DType::f32, false, true, false);
  ProductShape other = products.shape();
  other.threads = 2;
  ProductCuts first(file, "A");
  EXPECT_FALSE(first.find(products.shape()));
  products.bits(&first);
  first.choose(other, other.usual);
  ProductShape third = other;
  third.threads = 3;
  const ProductCut packed{third.usual.rows, third.usual.columns, true};
  first.choose(third, packed);
  ProductCuts second(file, "A"), elsewhere(file, "B");
  EXPECT_TRUE(second.find(products.shape()));
  EXPECT_EQ(second.find(products.shape()), first.find(products.shape()));
  EXPECT_EQ(second.find(other), other.usual);
  EXPECT_EQ(second.find(third), packed);
  EXPECT_FALSE(elsewhere.find(products.shape()));
  EXPECT_TRUE(second.notes().empty());
  fs::remove_all(folder);
}

// A choice was compared with what was usual then.
TEST(ProductCuts, are_tried_anew_where_another_cut_has_become_usual) {
  ProductShape shape = CutProducts(DType::f32, DType::f32, false, true, false).shape();
  ProductCuts cuts({}, "A");
  cuts.choose(shape, {128, 0});
  shape.usual = {0, 2048};
  EXPECT_FALSE(cuts.find(shape));
}

bool onednn_has_avx512() {
  const auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & needed) == needed;
}

// With AVX-512, oneDNN may compute operands of another stride otherwise; product_cuts_without_avx512 has this there.
TEST(ProductCuts, that_pack_change_no_bit) {
  if (onednn_has_avx512()) GTEST_SKIP() << "oneDNN multiplies with AVX-512, where a trial decides";
  for (const int layout : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const CutProducts products(DType::f32, DType::f32, layout & 1, layout & 2, layout & 4);
    ProductCuts cuts({}, "A");
    const ProductShape shape = products.shape();
    cuts.choose(shape, {shape.usual.rows, shape.usual.columns, true});
    EXPECT_EQ(products.bits(&cuts), products.bits(nullptr)) << shape.text();
  }
}

TEST(Fp32Matrix, has_rows_that_begin_in_different_sets_of_a_cache) {
  constexpr std::int64_t kLine = 16;
  for (const std::int64_t columns : {1, 16, 17, 33, 512, 1100, 1536}) {
    const std::int64_t stride = stride_across_sets(columns);
    EXPECT_EQ(stride % (2 * kLine), kLine) << columns;
    EXPECT_GE(stride, columns);
    EXPECT_LT(stride, columns + 2 * kLine);
  }
}

TEST(Fp32Matrix, holds_the_numbers_of_a_part_of_another_whoever_shares_the_work) {
  constexpr std::int64_t kStored = 300, kStride = 640, kColumns = 600, kSkipped = 7;
  ThreadTeam team(2);
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const bool transposed : {false, true}) {
      const Values values(dtype, kStored * kStride, 4);
      const MatrixView stored{values.tensor({1}).data, dtype, kStored, kStride, kStride, false};
      MatrixView part = stored.columns_part(kSkipped, kColumns);
      part.transposed = transposed;
      if (transposed) std::swap(part.rows, part.columns);
      Fp32Matrix matrix;
      const MatrixView copy = matrix.copy(part, &team);
      EXPECT_EQ(copy.row_stride, transposed ? kColumns : stride_across_sets(kColumns));
      EXPECT_EQ(copy.transposed, transposed);
      for (std::int64_t i = 0; i < kStored * kColumns; ++i) {
        const std::int64_t row = i / kColumns, column = i % kColumns;
        ASSERT_EQ(static_cast<const float*>(copy.data)[row * copy.row_stride + column],
                  values[row * kStride + kSkipped + column])
            << row << ", " << column;
      }
    }
}

// oneDNN takes another implementation, with other bits, for these pieces than for the usual ones, where there is AVX-512.
TEST(ProductCuts, are_honoured) {
  const CutProducts products(DType::f32, DType::f32, false, false, false);
  ProductCuts cuts({}, "A");
  cuts.choose(products.shape(), {32, 0});
  EXPECT_EQ(products.bits(&cuts), products.bits_of_pieces(32));
}

}  // namespace
}  // namespace tenax::kernels
