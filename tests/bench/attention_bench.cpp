// Attention of one layer, forward and backward, one thread. Time per layer; GFLOP/s counts the causal half of
// the seven products (2 forward, 5 backward).
#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/device.hpp"
#include "kernels/kernels.hpp"

namespace {

using namespace tenax::kernels;

struct Layer {
  Layer(DType dtype, std::int64_t sequences, std::int64_t length, int heads_of_layer, std::int64_t head_size)
      : heads(heads_of_layer), shape{sequences, length, heads * head_size} {
    const Shape wide{sequences, length, 3 * heads * head_size}, rows{sequences, heads, length};
    qkv = allocate(dtype, wide), d_qkv = allocate(dtype, wide);
    out = allocate(dtype, shape), d_out = allocate(dtype, shape);
    log_sum_exp = allocate(accumulation_of(dtype), rows);
    const Tensor noise = allocate(DType::f32, wide);
    for (std::int64_t i = 0; i < noise.size(); ++i)
      noise.as<float>()[i] = static_cast<float>(i * 2654435761 % 65536) / 32768 - 1;
    device->kernels().cast(*stream, noise, qkv);
    device->kernels().cast(*stream, noise.part(0, shape), d_out);
  }
  Tensor allocate(DType dtype, Shape extents) {
    buffers.push_back(device->allocate(static_cast<std::size_t>(extents.size()) * bytes_of(dtype)));
    return buffers.back()->tensor(dtype, extents);
  }
  void forward() { device->kernels().attention_forward(*stream, {qkv, out, log_sum_exp, heads}); }
  void backward() {
    device->kernels().attention_backward(*stream, {qkv, out, d_out, log_sum_exp, d_qkv, heads});
  }

  std::unique_ptr<Device> device = create_cpu_device();
  std::unique_ptr<Stream> stream = device->create_stream();
  std::vector<std::unique_ptr<Buffer>> buffers;
  int heads;
  Shape shape;
  Tensor qkv, d_qkv, out, d_out, log_sum_exp;
};

// Arguments: sequences, T, heads, head size, 1 for bf16, which passes (1 forward, 2 backward, 3 both).
void attention(benchmark::State& state) {
  Layer layer(state.range(4) ? DType::bf16 : DType::f32, state.range(0), state.range(1),
              static_cast<int>(state.range(2)), state.range(3));
  layer.forward();
  for (auto _ : state) {
    if (state.range(5) & 1) layer.forward();
    if (state.range(5) & 2) layer.backward();
  }
  const double products = state.range(5) == 3 ? 7 : state.range(5) == 2 ? 5 : 2;
  const double flop = products * static_cast<double>(state.range(1) * layer.shape.size());
  state.counters["GFLOP/s"] = benchmark::Counter(flop * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void arguments(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"sequences", "T", "heads", "size", "bf16", "passes"})->Unit(benchmark::kMillisecond);
  for (const int bf16 : {0, 1})
    for (const int passes : {1, 2, 3}) {
      bench->Args({1, 1024, 12, 64, bf16, passes});  // GPT-2 124M
      bench->Args({1, 256, 6, 64, bf16, passes});    // small
      bench->Args({4, 256, 4, 32, bf16, passes});    // tiny
    }
}
BENCHMARK(attention)->Apply(arguments)->MinTime(0.3)->Repetitions(5)->ReportAggregatesOnly();

}  // namespace

BENCHMARK_MAIN();
