// What a test of one operation needs: tensors made of doubles on any device, in any compute type, and
// tolerances.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/kernels.hpp"
#include "tests/kernels/back_ends.hpp"

namespace tenax::kernels::test {

using Values = std::vector<double>;

/// `count` normal numbers around `mean`, the same for the same name.
Values normal_values(const std::string& name, std::int64_t count, double mean = 0.0, double deviation = 1.0);

/// By its definition, and its slope by a difference.
double gelu(double x);
double gelu_slope(double x);

/// A device, a stream and tensors on it. Reads and writes go through pinned memory, so that device memory
/// need not be the host's.
class Workbench {
 public:
  explicit Workbench(const std::string& back_end);

  /// A tensor of these values, rounded to `dtype`; it lives as long as the workbench.
  Tensor tensor(DType dtype, Shape shape, const Values& values);
  /// A tensor full of a value that no test expects, so that what is not overwritten shows.
  Tensor poisoned(DType dtype, Shape shape);
  Tensor tokens(Shape shape, const std::vector<std::int32_t>& values);
  /// What a tensor holds, as doubles.
  Values values(Tensor tensor);

  Kernels& kernels() { return device_->kernels(); }
  Stream& stream() { return *stream_; }
  Device& device() { return *device_; }

 private:
  Tensor place(DType dtype, Shape shape, const void* bytes);

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

/// A test that runs for each back end and each compute type.
class OperationTest : public testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  OperationTest() : bench_(std::get<0>(GetParam())) {}

  DType dtype() const { return std::get<1>(GetParam()); }
  DType accumulation() const { return accumulation_of(dtype()); }
  /// Relative error that a result of this type may show: rounding of the result plus a few operations.
  double tolerance() const { return tolerance_of(dtype()); }
  /// The same for results kept in the accumulation type, from inputs that were exact in the compute type.
  double accumulation_tolerance() const { return tolerance_of(accumulation()); }
  static double tolerance_of(DType type) {
    return type == DType::f64 ? 1e-12 : type == DType::f32 ? 1e-5 : 1e-2;
  }

  Tensor tensor(Shape shape, const Values& values) { return bench_.tensor(dtype(), shape, values); }
  Tensor output(Shape shape) { return bench_.poisoned(dtype(), shape); }
  Tensor accumulator(Shape shape, const Values& values) {
    return bench_.tensor(accumulation(), shape, values);
  }
  Tensor accumulator(Shape shape) { return bench_.poisoned(accumulation(), shape); }
  Values values(Tensor t) { return bench_.values(t); }
  Kernels& kernels() { return bench_.kernels(); }
  Stream& stream() { return bench_.stream(); }

  Workbench bench_;
};

std::string name_of_parameters(const testing::TestParamInfo<OperationTest::ParamType>& info);

/// Asserts are_near() (relative_error.hpp).
void expect_near(const Values& actual, const Values& expected, double tolerance, double floor = 1.0);

/// Central differences of f at x, one element at a time.
Values numerical_gradient(const std::function<double(const Values&)>& f, Values x, double step = 1e-5);

double dot(const Values& a, const Values& b);

#define TENAX_TEST_OPERATION(suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(, suite,                                                                \
                           testing::Combine(testing::ValuesIn(back_ends()),                        \
                                            testing::Values(DType::f32, DType::bf16, DType::f64)), \
                           name_of_parameters)

}  // namespace tenax::kernels::test
