// Nanoseconds an element of every operation that is not a matrix product or attention, at GPT-2 124M's sizes
// (1024 tokens, width 768). Run it on an idle machine, one process a core: build/tests/bench/elementwise_bench.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"
#include "kernels/random.hpp"
#include "kernels/update_coefficients.hpp"

namespace tenax::kernels {
namespace {

constexpr std::int64_t kRows = 1024, kHidden = 768, kWide = 4 * kHidden, kVocab = 50257,
                       kParameters = 8 << 20;

// One device, its stream, and tensors filled with normal numbers.
class Bench {
 public:
  Tensor tensor(DType dtype, Shape shape, double deviation = 1.0) {
    buffers_.push_back(device_->allocate(static_cast<std::size_t>(shape.size()) * bytes_of(dtype)));
    const Tensor result = buffers_.back()->tensor(dtype, shape);
    const auto source = device_->allocate(static_cast<std::size_t>(shape.size()) * sizeof(float));
    const Tensor values = source->tensor(DType::f32, shape);
    for (std::int64_t i = 0; i < values.size(); ++i)
      values.as<float>()[i] =
          static_cast<float>(deviation * random_.normal(static_cast<std::uint64_t>(i & 0xffff)));
    kernels().cast(stream(), values, result);
    return result;
  }
  Tensor tokens(Shape shape) {
    buffers_.push_back(device_->allocate(static_cast<std::size_t>(shape.size()) * sizeof(std::int32_t)));
    const Tensor result = buffers_.back()->tensor(DType::i32, shape);
    for (std::int64_t i = 0; i < shape.size(); ++i)
      result.as<std::int32_t>()[i] =
          static_cast<std::int32_t>(random_.bits(static_cast<std::uint64_t>(i)) % kVocab);
    return result;
  }
  Kernels& kernels() { return device_->kernels(); }
  Stream& stream() { return *stream_; }

 private:
  std::unique_ptr<Device> device_ = create_cpu_device();
  std::unique_ptr<Stream> stream_ = device_->create_stream();
  std::vector<std::unique_ptr<Buffer>> buffers_;
  CounterRandom random_{1, "bench"};
};

template <class Operation>
void measure(benchmark::State& state, std::int64_t elements, const Operation& operation) {
  operation();
  for (auto _ : state) operation();
  // As an inverted rate the counter is seconds an element, printed with a unit's prefix (n: nano, p: pico).
  state.counters["s_per_element"] =
      benchmark::Counter(static_cast<double>(elements) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void gelu_forward(benchmark::State& state, DType type) {
  Bench bench;
  const GeluForwardArgs args{bench.tensor(type, {kRows, kWide}), bench.tensor(type, {kRows, kWide})};
  measure(state, kRows * kWide, [&] { bench.kernels().gelu_forward(bench.stream(), args); });
}

void gelu_backward(benchmark::State& state, DType type) {
  Bench bench;
  const Tensor d = bench.tensor(type, {kRows, kWide});
  const GeluBackwardArgs args{bench.tensor(type, {kRows, kWide}), d, bench.tensor(type, {kRows, kWide})};
  measure(state, kRows * kWide, [&] { bench.kernels().gelu_backward(bench.stream(), args); });
}

void bias_gradient(benchmark::State& state, DType type) {
  Bench bench;
  const BiasGradientArgs args{bench.tensor(type, {kRows, kWide}), bench.tensor(DType::f32, {kWide})};
  measure(state, kRows * kWide, [&] { bench.kernels().bias_gradient(bench.stream(), args); });
}

void layernorm_forward(benchmark::State& state, DType type) {
  Bench bench;
  const LayerNormForwardArgs args{.x = bench.tensor(type, {kRows, kHidden}),
                                  .gamma = bench.tensor(type, {kHidden}),
                                  .beta = bench.tensor(type, {kHidden}),
                                  .y = bench.tensor(type, {kRows, kHidden}),
                                  .mean = bench.tensor(DType::f32, {kRows}),
                                  .rstd = bench.tensor(DType::f32, {kRows})};
  measure(state, kRows * kHidden, [&] { bench.kernels().layernorm_forward(bench.stream(), args); });
}

void residual_layernorm_forward(benchmark::State& state, DType type) {
  Bench bench;
  const ResidualLayerNormForwardArgs args{.x = bench.tensor(type, {kRows, kHidden}),
                                          .delta = bench.tensor(type, {kRows, kHidden}),
                                          .bias = bench.tensor(type, {kHidden}),
                                          .sum = bench.tensor(type, {kRows, kHidden}),
                                          .gamma = bench.tensor(type, {kHidden}),
                                          .beta = bench.tensor(type, {kHidden}),
                                          .y = bench.tensor(type, {kRows, kHidden}),
                                          .mean = bench.tensor(DType::f32, {kRows}),
                                          .rstd = bench.tensor(DType::f32, {kRows})};
  measure(state, kRows * kHidden, [&] { bench.kernels().residual_layernorm_forward(bench.stream(), args); });
}

void layernorm_backward(benchmark::State& state, DType type) {
  Bench bench;
  const LayerNormBackwardArgs args{.x = bench.tensor(type, {kRows, kHidden}),
                                   .mean = bench.tensor(DType::f32, {kRows}),
                                   .rstd = bench.tensor(DType::f32, {kRows}),
                                   .gamma = bench.tensor(type, {kHidden}),
                                   .d_y = bench.tensor(type, {kRows, kHidden}),
                                   .d_residual = bench.tensor(type, {kRows, kHidden}),
                                   .d_x = bench.tensor(type, {kRows, kHidden}),
                                   .d_gamma = bench.tensor(DType::f32, {kHidden}),
                                   .d_beta = bench.tensor(DType::f32, {kHidden})};
  measure(state, kRows * kHidden, [&] { bench.kernels().layernorm_backward(bench.stream(), args); });
}

void residual_add(benchmark::State& state, DType type) {
  Bench bench;
  const ResidualAddArgs args{.x = bench.tensor(type, {kRows, kHidden}),
                             .delta = bench.tensor(type, {kRows, kHidden}),
                             .bias = bench.tensor(type, {kHidden}),
                             .out = bench.tensor(type, {kRows, kHidden})};
  measure(state, kRows * kHidden, [&] { bench.kernels().residual_add(bench.stream(), args); });
}

void embedding_forward(benchmark::State& state, DType type) {
  Bench bench;
  const EmbeddingForwardArgs args{.tokens = bench.tokens({1, kRows}),
                                  .wte = bench.tensor(type, {kVocab, kHidden}),
                                  .wpe = bench.tensor(type, {kRows, kHidden}),
                                  .out = bench.tensor(type, {kRows, kHidden})};
  measure(state, kRows * kHidden, [&] { bench.kernels().embedding_forward(bench.stream(), args); });
}

void embedding_backward(benchmark::State& state, DType type) {
  Bench bench;
  const EmbeddingBackwardArgs args{.tokens = bench.tokens({1, kRows}),
                                   .d_x = bench.tensor(type, {kRows, kHidden}),
                                   .d_wte = bench.tensor(DType::f32, {kVocab, kHidden}),
                                   .d_wpe = bench.tensor(DType::f32, {kRows, kHidden})};
  measure(state, kRows * kHidden, [&] { bench.kernels().embedding_backward(bench.stream(), args); });
}

// Forward and backward together, in place, on as many rows as the last-level cache holds. (From memory, the
// three passes over the logits cost what their traffic costs.)
void cross_entropy(benchmark::State& state, DType type) {
  constexpr std::int64_t kSomeRows = 64;
  Bench bench;
  const Tensor logits = bench.tensor(type, {kSomeRows, kVocab}), targets = bench.tokens({kSomeRows});
  const Tensor maximum = bench.tensor(DType::f32, {kSomeRows}), sum = bench.tensor(DType::f32, {kSomeRows});
  const Tensor target = bench.tensor(DType::f32, {kSomeRows}), loss = bench.tensor(DType::f32, {kSomeRows});
  measure(state, kSomeRows * kVocab, [&] {
    bench.kernels().cross_entropy_forward(bench.stream(), {logits, targets, maximum, sum, target, 0, kVocab});
    bench.kernels().cross_entropy_loss(bench.stream(), {maximum, sum, target, sum, loss});
    bench.kernels().cross_entropy_backward(bench.stream(), {logits, targets, sum, logits, 0, kVocab, 1.0});
  });
}

using UpdateOp = void (Kernels::*)(Stream&, const UpdateArgs&);

void update(benchmark::State& state, DType compute, UpdateOp op, std::size_t moments) {
  Bench bench;
  UpdateStretch stretch{.master = bench.tensor(DType::f32, {kParameters}),
                        .gradient = bench.tensor(DType::f32, {kParameters}),
                        .moments = {},
                        .compute = compute == DType::f32 ? Tensor{} : bench.tensor(compute, {kParameters})};
  for (std::size_t i = 0; i < moments; ++i) stretch.moments[i] = bench.tensor(DType::f32, {kParameters}, 0.0);
  const UpdateStep step({.learning_rate = 1e-3, .weight_decay = 0.1});
  const Tensor coefficients = bench.tensor(DType::f32, {kUpdateCoefficients});
  bench.kernels().update_coefficients(bench.stream(), {&step, coefficients});
  measure(state, kParameters, [&] {
    (bench.kernels().*op)(bench.stream(), {std::span(&stretch, 1), coefficients});
  });
}

void adamw(benchmark::State& state, DType compute) { update(state, compute, &Kernels::adamw, 2); }
void lion(benchmark::State& state, DType compute) { update(state, compute, &Kernels::lion, 1); }

void sum_of_squares(benchmark::State& state, DType type) {
  Bench bench;
  double result = 0;
  const Tensor x = bench.tensor(type, {kParameters});
  measure(state, kParameters, [&] {
    bench.kernels().sum_of_squares(bench.stream(), {std::span(&x, 1), &result});
  });
}

// To bf16 from fp32, or back.
void cast(benchmark::State& state, DType type) {
  Bench bench;
  const DType source = type == DType::bf16 ? DType::f32 : DType::bf16;
  const Tensor from = bench.tensor(source, {kParameters}), to = bench.tensor(type, {kParameters});
  measure(state, kParameters, [&] { bench.kernels().cast(bench.stream(), from, to); });
}

void add(benchmark::State& state, DType type) {
  Bench bench;
  const Tensor from = bench.tensor(type, {kParameters}), to = bench.tensor(type, {kParameters}, 0.0);
  measure(state, kParameters, [&] { bench.kernels().add(bench.stream(), from, to); });
}

#define TENAX_BENCHMARK(operation)                \
  BENCHMARK_CAPTURE(operation, fp32, DType::f32); \
  BENCHMARK_CAPTURE(operation, bf16, DType::bf16)

TENAX_BENCHMARK(gelu_forward);
TENAX_BENCHMARK(gelu_backward);
TENAX_BENCHMARK(bias_gradient);
TENAX_BENCHMARK(layernorm_forward);
TENAX_BENCHMARK(residual_layernorm_forward);
TENAX_BENCHMARK(layernorm_backward);
TENAX_BENCHMARK(residual_add);
TENAX_BENCHMARK(embedding_forward);
TENAX_BENCHMARK(embedding_backward);
TENAX_BENCHMARK(cross_entropy);
TENAX_BENCHMARK(adamw);
TENAX_BENCHMARK(lion);
TENAX_BENCHMARK(sum_of_squares);
TENAX_BENCHMARK(cast);
TENAX_BENCHMARK(add);

}  // namespace
}  // namespace tenax::kernels

BENCHMARK_MAIN();
