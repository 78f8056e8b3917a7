// gelu(x) = x/2 · (1 + tanh u) with u = sqrt(2/π) (x + 0.044715 x³), computed as x · s with s = 1 / (1 +
// exp(−2u)): the same function, and an exponential vectorises where tanh does not.
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/parallel_blocks.hpp"

namespace tenax::kernels {
namespace {

constexpr double kSqrt2OverPi = 0.79788456080286535588, kCubic = 0.044715;

template <class A>
A sigmoid_2u(A x, A square) {
  const A minus_2u = x * (A(-2 * kSqrt2OverPi) + A(-2 * kSqrt2OverPi * kCubic) * square);
  return A(1) / (A(1) + exponential(minus_2u));
}

template <class T>
void forward(const T* x, T* y, std::int64_t count) {
  using A = Accumulator<T>;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const A value = widen(x[i]);
    y[i] = narrow<T>(value * sigmoid_2u(value, value * value));
  }
}

// gelu'(x) = s + x · s (1 − s) · 2 du/dx.
template <class T>
void backward(const T* x, const T* d_y, T* d_x, std::int64_t count) {
  using A = Accumulator<T>;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const A value = widen(x[i]), square = value * value;
    const A s = sigmoid_2u(value, square);
    const A two_slope = A(2 * kSqrt2OverPi) + A(6 * kSqrt2OverPi * kCubic) * square;
    d_x[i] = narrow<T>(widen(d_y[i]) * (s + value * s * (A(1) - s) * two_slope));
  }
}

}  // namespace

void CpuKernels::gelu_forward(Stream& stream, const GeluForwardArgs& args) {
  assert(args.x.size() == args.y.size() && args.x.dtype == args.y.dtype);
  with_type(args.x.dtype, [&](auto type) {
    using T = decltype(type);
    const T* const x = args.x.as<T>();
    T* const y = args.y.as<T>();
    for_blocks(stream, args.x.size(), kElementBlock,
               [=](std::int64_t begin, std::int64_t end) { forward(x + begin, y + begin, end - begin); });
  });
}

void CpuKernels::gelu_backward(Stream& stream, const GeluBackwardArgs& args) {
  assert(args.x.size() == args.d_y.size() && args.x.size() == args.d_x.size());
  with_type(args.x.dtype, [&](auto type) {
    using T = decltype(type);
    const T *const x = args.x.as<T>(), *const d_y = args.d_y.as<T>();
    T* const d_x = args.d_x.as<T>();
    for_blocks(stream, args.x.size(), kElementBlock, [=](std::int64_t begin, std::int64_t end) {
      backward(x + begin, d_y + begin, d_x + begin, end - begin);
    });
  });
}

}  // namespace tenax::kernels
