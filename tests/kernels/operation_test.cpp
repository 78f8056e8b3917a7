#include "tests/kernels/operation_test.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/random.hpp"
#include "tests/kernels/relative_error.hpp"

namespace tenax::kernels::test {
namespace {

// Written apart from the kernels' own conversion: bf16 is the nearest of the two neighbours, the even one on
// a tie.
std::uint16_t nearest_bf16(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t rest = bits & 0xffffu, low = bits >> 16;
  if (!std::isfinite(value)) return static_cast<std::uint16_t>(low);
  const bool up = rest > 0x8000u || (rest == 0x8000u && (low & 1u));
  return static_cast<std::uint16_t>(low + up);
}

double from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

template <class T, class Convert>
std::vector<T> converted(const Values& values, const Convert& convert) {
  std::vector<T> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = static_cast<T>(convert(values[i]));
  return result;
}

}  // namespace

Values normal_values(const std::string& name, std::int64_t count, double mean, double deviation) {
  const CounterRandom random(7, name);
  Values values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = mean + deviation * random.normal(i);
  return values;
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double gelu_slope(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

Workbench::Workbench(const std::string& back_end)
    : device_(create_device(back_end)), stream_(device_->create_stream()) {}

Tensor Workbench::place(DType dtype, Shape shape, const void* bytes) {
  const std::size_t size = static_cast<std::size_t>(shape.size()) * bytes_of(dtype);
  const auto pinned = device_->allocate(size, MemoryKind::pinned_host);
  if (size) std::memcpy(pinned->data(), bytes, size);
  buffers_.push_back(device_->allocate(size));
  const Tensor result = buffers_.back()->tensor(dtype, shape);
  kernels().copy(stream(), pinned->tensor(dtype, shape), result);
  stream().synchronize(Deadline::after_s(60));
  return result;
}

Tensor Workbench::tensor(DType dtype, Shape shape, const Values& values) {
  EXPECT_EQ(static_cast<std::int64_t>(values.size()), shape.size());
  if (dtype == DType::f64) return place(dtype, shape, values.data());
  if (dtype == DType::bf16) return place(dtype, shape, converted<std::uint16_t>(values, nearest_bf16).data());
  return place(dtype, shape, converted<float>(values, [](double value) { return value; }).data());
}

Tensor Workbench::poisoned(DType dtype, Shape shape) {
  return tensor(dtype, shape, Values(static_cast<std::size_t>(shape.size()), -12345.0));
}

Tensor Workbench::tokens(Shape shape, const std::vector<std::int32_t>& values) {
  return place(DType::i32, shape, values.data());
}

Values Workbench::values(Tensor tensor) {
  const auto pinned = device_->allocate(tensor.bytes(), MemoryKind::pinned_host);
  const Tensor host = pinned->tensor(tensor.dtype, tensor.shape);
  kernels().copy(stream(), tensor, host);
  stream().synchronize(Deadline::after_s(60));
  Values result(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    switch (tensor.dtype) {
      case DType::f64:
        result[i] = host.as<double>()[i];
        break;
      case DType::f32:
        result[i] = static_cast<double>(host.as<float>()[i]);
        break;
      case DType::bf16:
        result[i] = from_bf16(host.as<std::uint16_t>()[i]);
        break;
      case DType::i32:
        result[i] = host.as<std::int32_t>()[i];
        break;
    }
  }
  return result;
}

std::string name_of_parameters(const testing::TestParamInfo<OperationTest::ParamType>& info) {
  return std::get<0>(info.param) + "_" + name_of(std::get<1>(info.param));
}

void expect_near(const Values& actual, const Values& expected, double tolerance, double floor) {
  ASSERT_TRUE(are_near(actual, expected, tolerance, floor));
}

Values numerical_gradient(const std::function<double(const Values&)>& f, Values x, double step) {
  Values gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double centre = x[i];
    x[i] = centre + step;
    const double above = f(x);
    x[i] = centre - step;
    gradient[i] = (above - f(x)) / (2 * step);
    x[i] = centre;
  }
  return gradient;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace tenax::kernels::test
