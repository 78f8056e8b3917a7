// Attention of one new position against the attention over the whole sequence, on every back end of this machine.
#include "kernels/emulated_device.hpp"
#include "kernels/error.hpp"
#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

struct Size {
  std::int64_t length;
  int heads;
  std::int64_t head_size;
};

class AttentionDecode : public OperationTest {};

TEST_P(AttentionDecode, gives_the_last_row_of_attention_over_the_sequence) {
  for (const auto& [length, heads, size] :
       {Size{1, 1, 1}, {1, 3, 8}, {2, 2, 5}, {17, 3, 12}, {50, 4, 64}, {131, 2, 80}, {1000, 3, 64}}) {
    const std::int64_t hidden = heads * size;
    const Tensor qkv = tensor({length, 3 * hidden}, normal_values("qkv", length * 3 * hidden));
    const Tensor all = output({1, length, hidden}), last = output({1, hidden});
    kernels().attention_forward(
        stream(), {qkv.reshaped({1, length, 3 * hidden}), all, accumulator({1, heads, length}), heads});
    kernels().attention_decode(stream(), {qkv, last, heads});
    expect_near(values(last), values(all.part((length - 1) * hidden, {hidden})), tolerance());
  }
}

TEST_P(AttentionDecode, survives_scores_far_apart) {
  Values qkv;
  for (int row = 0; row < 200; ++row)
    qkv.insert(qkv.end(), {100, row == 150 ? 50.0 : -50.0, row == 150 ? 1.0 : 2.0});
  const Tensor out = output({1, 1});
  kernels().attention_decode(stream(), {tensor({200, 3}, qkv), out, 1});
  EXPECT_EQ(values(out), Values{1});
}

TEST_P(AttentionDecode, repeats_bit_for_bit) {
  const Tensor qkv = tensor({700, 3 * 128}, normal_values("qkv", 700 * 3 * 128)), first = output({1, 128});
  kernels().attention_decode(stream(), {qkv, first, 2});
  for (int i = 0; i < 3; ++i) {
    const Tensor again = output({1, 128});
    kernels().attention_decode(stream(), {qkv, again, 2});
    EXPECT_EQ(values(again), values(first));
  }
}

TENAX_TEST_OPERATION(AttentionDecode);

TEST(AttentionDecodeElsewhere, is_refused_by_a_device_without_data) {
  const auto device = create_emulated_device({});
  const auto stream = device->create_stream();
  EXPECT_THROW(device->kernels().attention_decode(*stream, {}), Error);
}

}  // namespace
}  // namespace tenax::kernels::test
