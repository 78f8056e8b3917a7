#include "comm/ftar/chunk_arithmetic.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/comm/ftar/ftar_ranks.hpp"

namespace tenax::comm {
namespace {

using kernels::bf16_t;

class ChunkArithmetics : public ::testing::Test {
 protected:
  static constexpr std::int64_t kElements = 1003;  // no multiple of any vector

  std::vector<float> added(const void* incoming, ChunkForm form, bool is_rounded) {
    std::vector<float> sum(own.size());
    arithmetic->add({.own = tensor_of(own, DType::f32),
                     .result = tensor_of(sum, DType::f32),
                     .incoming = incoming,
                     .form = form,
                     .is_rounded = is_rounded});
    return sum;
  }
  std::vector<bf16_t> packed() {
    std::vector<bf16_t> wire(other.size());
    arithmetic->pack(tensor_of(other, DType::f32), WireType::bf16, std::as_writable_bytes(std::span(wire)));
    return wire;
  }

  std::unique_ptr<kernels::Device> device = kernels::create_cpu_device();
  std::unique_ptr<ChunkArithmetic> arithmetic = std::make_unique<ChunkArithmetic>(*device);
  std::vector<float> own = values_of<float>(0, kElements), other = values_of<float>(1, kElements);
};

TEST_F(ChunkArithmetics, add_what_came_as_it_is) {
  const std::vector<float> sum = added(other.data(), ChunkForm::as_is, false);
  for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], own[i] + other[i]);
}

TEST_F(ChunkArithmetics, round_alike_whether_values_are_packed_or_read_where_they_lie) {
  const std::vector<bf16_t> wire = packed();
  for (const bool is_rounded : {false, true}) {
    const std::vector<float> sum = added(wire.data(), ChunkForm::bf16, is_rounded);
    EXPECT_EQ(sum, added(other.data(), ChunkForm::unrounded, is_rounded));
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const float exact = own[i] + on_the_wire(other[i], WireType::bf16);
      ASSERT_EQ(sum[i], is_rounded ? on_the_wire(exact, WireType::bf16) : exact);
    }
  }
}

TEST_F(ChunkArithmetics, widen_complete_sums) {
  const std::vector<bf16_t> wire = packed();
  std::vector<float> values(other.size());
  arithmetic->copy(wire.data(), ChunkForm::bf16, tensor_of(values, DType::f32));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], on_the_wire(other[i], WireType::bf16));
}

TEST_F(ChunkArithmetics, add_doubles_without_loss) {
  std::vector<double> a = values_of<double>(0, kElements), b = values_of<double>(1, kElements), sum(a.size());
  arithmetic->add(
      {.own = tensor_of(a, DType::f64), .result = tensor_of(sum, DType::f64), .incoming = b.data()});
  for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], a[i] + b[i]);
}

}  // namespace
}  // namespace tenax::comm
