// The bodies of a GPU's attention of one new position on the host: against the CPU back end, and by several threads.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cuda/attention_decode_body.hpp"
#include "kernels/kernels.hpp"
#include "tests/kernels/matmul_values.hpp"
#include "tests/kernels/relative_error.hpp"
#include "tests/kernels/thread_group.hpp"

namespace tenax::kernels::cuda {
namespace {

struct Size {
  int length, heads, head_size;
  std::int64_t hidden() const { return static_cast<std::int64_t>(heads) * head_size; }
};

// Lengths below, at and beyond a chunk's positions, and of several chunks; heads of whole packs and others.
const Size kSizes[] = {{1, 1, 16},   {1, 3, 5},     {15, 2, 64},  {128, 2, 8},
                       {129, 2, 64}, {300, 1, 128}, {257, 2, 22}, {513, 1, 80}};

Values cache_of(DType dtype, const Size& size) { return Values(dtype, size.length * 3 * size.hidden(), 1); }

Values on_the_cpu(const Values& qkv, DType dtype, const Size& size) {
  const auto device = create_cpu_device();
  const auto stream = device->create_stream();
  const Values out(dtype, size.hidden(), 2);
  device->kernels().attention_decode(
      *stream, {qkv.tensor({size.length, 3 * size.hidden()}), out.tensor({1, size.hidden()}), size.heads});
  return out;
}

// Its two kernels, all blocks of each in turn, whose scratch memory holds what others left.
template <int kCount, class Element>
Values by_bodies(const Values& qkv, DType dtype, const Size& size, int threads) {
  using Real = Accumulator<Element>;
  const Values out(dtype, size.hidden(), 3);
  AttentionDecode<Element> op{qkv.tensor({qkv.size()}).as<const Element>(),
                              out.tensor({size.hidden()}).as<Element>(),
                              nullptr,
                              size.length,
                              size.heads,
                              size.head_size,
                              static_cast<Real>(1 / std::sqrt(static_cast<double>(size.head_size)))};
  std::vector<Real> parts(static_cast<std::size_t>(size.heads * op.chunks() * (size.head_size + 2)),
                          Real(NAN));
  op.parts = parts.data();
  for (int head = 0; head < size.heads; ++head)
    for (int chunk = 0; chunk < op.chunks(); ++chunk) {
      std::vector<Real> shared(static_cast<std::size_t>(DecodeMemory<Real>::size(size.head_size)), Real(NAN));
      test::for_group(threads, [&](auto group) {
        attention_decode_chunk<kCount>(group, op, head, chunk, shared.data());
      });
    }
  for (int head = 0; head < size.heads; ++head)
    test::for_group(threads, [&](auto group) { attention_decode_combine(group, op, head); });
  return out;
}

template <class Element>
class CudaDecodeBodies : public testing::Test {
 protected:
  static constexpr DType kType = sizeof(Element) == 8   ? DType::f64
                                 : sizeof(Element) == 4 ? DType::f32
                                                        : DType::bf16;
  static constexpr double kTolerance = kType == DType::f64 ? 1e-14 : kType == DType::f32 ? 2e-6 : 8e-3;
  void expect_close(const Values& actual, const Values& expected, const Size& size) {
    ASSERT_TRUE(kernels::test::are_near(actual, expected, kTolerance))
        << "T " << size.length << ", head size " << size.head_size;
  }
};
using ElementTypes = testing::Types<double, float, bf16_t>;
TYPED_TEST_SUITE(CudaDecodeBodies, ElementTypes);

TYPED_TEST(CudaDecodeBodies, equal_the_cpu_back_end) {
  for (const Size& size : kSizes) {
    const Values qkv = cache_of(this->kType, size), expected = on_the_cpu(qkv, this->kType, size);
    this->expect_close(by_bodies<1, TypeParam>(qkv, this->kType, size, 1), expected, size);
    if constexpr (sizeof(TypeParam) <= 4)
      if (size.head_size % kWidth == 0)
        this->expect_close(by_bodies<kWidth, TypeParam>(qkv, this->kType, size, 1), expected, size);
  }
}

// Under ThreadSanitizer this finds every missing barrier. (One thread is another group, for which the host's compiler may
// fuse other products and sums.)
TYPED_TEST(CudaDecodeBodies, compute_the_same_bits_with_any_number_of_threads) {
  for (const Size& size : {Size{300, 2, 16}, Size{129, 1, 5}}) {
    const Values qkv = cache_of(this->kType, size);
    const Values three = by_bodies<1, TypeParam>(qkv, this->kType, size, 3);
    this->expect_close(three, on_the_cpu(qkv, this->kType, size), size);
    for (const int threads : {2, 5})
      EXPECT_EQ((by_bodies<1, TypeParam>(qkv, this->kType, size, threads).bytes()), three.bytes());
  }
}

TYPED_TEST(CudaDecodeBodies, survive_scores_far_apart) {
  const Size size{300, 1, 8};
  Values qkv = cache_of(this->kType, size);
  for (int row = 0; row < size.length; ++row)
    for (int c = 0; c < 16; ++c) qkv.set(row * 24 + c, c < 8 ? 100 : row == 200 ? 50 : -50);
  const Values out = by_bodies<1, TypeParam>(qkv, this->kType, size, 1);
  for (int c = 0; c < 8; ++c) EXPECT_EQ(out[c], qkv[200 * 24 + 16 + c]);
}

TYPED_TEST(CudaDecodeBodies, pass_on_a_number_that_is_none) {
  const Size size{140, 1, 8};
  Values qkv = cache_of(this->kType, size);
  qkv.set(5 * 24 + 8, NAN);  // in a key
  EXPECT_TRUE(std::isnan(by_bodies<1, TypeParam>(qkv, this->kType, size, 1)[0]));
}

}  // namespace
}  // namespace tenax::kernels::cuda
