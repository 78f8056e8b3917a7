#include "kernels/tensor.hpp"

#include <gtest/gtest.h>

#include "kernels/device.hpp"

namespace tenax::kernels {
namespace {

TEST(Shape, prints_its_extents) {
  EXPECT_EQ(Shape({2, 3}).to_string(), "[2, 3]");
  EXPECT_EQ(Shape({7}).to_string(), "[7]");
  EXPECT_EQ(Shape().to_string(), "[]");
}

TEST(DType, has_the_names_that_decks_use) {
  EXPECT_STREQ(name_of(DType::f32), "fp32");
  EXPECT_STREQ(name_of(DType::bf16), "bf16");
}

TEST(Tensor, rows_are_all_axes_but_the_last) {
  const Tensor tensor{nullptr, DType::bf16, {2, 3, 5}};
  EXPECT_EQ(tensor.rows(), 6);
  EXPECT_EQ(tensor.columns(), 5);
  EXPECT_EQ(tensor.bytes(), 60u);
}

TEST(Buffer, gives_views_of_its_parts) {
  const auto device = create_cpu_device();
  const auto buffer = device->allocate(64);
  const Tensor whole = buffer->tensor(DType::f32, {4, 4}), tail = buffer->tensor(DType::f32, {2, 4}, 32);
  EXPECT_EQ(whole.data, buffer->data());
  EXPECT_EQ(tail.as<float>(), whole.as<float>() + 8);
  EXPECT_EQ(whole.part(8, {2, 4}).data, tail.data);
}

}  // namespace
}  // namespace tenax::kernels
