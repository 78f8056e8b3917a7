// Attention of one new position against the attention over the whole sequence.
#include <gtest/gtest.h>

#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "kernels/kernels.hpp"
#include "tests/kernels/async/stand_in.hpp"
#include "tests/kernels/matmul_values.hpp"

namespace tenax::kernels {
namespace {

struct Case {
  std::int64_t length;
  int heads;
  std::int64_t head_size;
};

class AttentionDecode : public testing::TestWithParam<DType> {};

TEST_P(AttentionDecode, gives_the_last_row_of_attention_over_the_sequence) {
  const auto device = create_cpu_device();
  const auto stream = device->create_stream();
  const double tolerance = GetParam() == DType::f64 ? 1e-14 : GetParam() == DType::f32 ? 2e-6 : 8e-3;
  for (const auto& [length, heads, size] :
       {Case{1, 1, 1}, {1, 3, 8}, {2, 2, 5}, {17, 3, 12}, {50, 4, 64}, {131, 2, 80}}) {
    const std::int64_t hidden = heads * size;
    const Values qkv(GetParam(), length * 3 * hidden, 7);
    const Values all(GetParam(), length * hidden, 8), last(GetParam(), hidden, 9);
    const Values sums(accumulation_of(GetParam()), heads * length, 10);
    device->kernels().attention_forward(*stream,
                                        {qkv.tensor({1, length, 3 * hidden}), all.tensor({1, length, hidden}),
                                         sums.tensor({1, heads, length}), heads});
    device->kernels().attention_decode(*stream,
                                       {qkv.tensor({length, 3 * hidden}), last.tensor({1, hidden}), heads});
    for (std::int64_t i = 0; i < hidden; ++i)
      ASSERT_NEAR(last[i], all[(length - 1) * hidden + i], tolerance) << "T " << length << " element " << i;
  }
}

TEST_P(AttentionDecode, survives_scores_far_apart) {
  const auto device = create_cpu_device();
  const auto stream = device->create_stream();
  Values qkv(GetParam(), 3 * 3, 1), out(GetParam(), 1, 2);
  for (std::int64_t row = 0; row < 3; ++row) {
    qkv.set(row * 3, 100);
    qkv.set(row * 3 + 1, row == 1 ? 50 : -50);
    qkv.set(row * 3 + 2, static_cast<double>(row));
  }
  device->kernels().attention_decode(*stream, {qkv.tensor({3, 3}), out.tensor({1, 1}), 1});
  EXPECT_EQ(out[0], 1);
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionDecode, testing::Values(DType::f32, DType::bf16, DType::f64),
                         [](const auto& instance) { return name_of(instance.param); });

TEST(AttentionDecodeElsewhere, says_where_to_generate_instead) {
  const auto device = test::create_stand_in({});
  const auto stream = device->create_stream();
  EXPECT_THROW(device->kernels().attention_decode(*stream, {}), Error);
}

}  // namespace
}  // namespace tenax::kernels
