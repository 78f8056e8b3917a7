// The matrix products of one layer, one thread: forward, input gradient and weight gradient of every linear
// of the three reference models, and "peak", multiply-adds on registers alone. GFLOP/s are per second of
// processor time: other programs on the machine then disturb caches and clock only.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cpu/attention_tile.hpp"
#include "kernels/device.hpp"
#include "kernels/kernels.hpp"

namespace {

using namespace tenax::kernels;

enum Pass { kForward, kInput, kWeight, kWeightAdd };
const char* const kPassNames[] = {"forward", "d_input", "d_weight", "d_weight_add"};

struct Linear {
  const char* name;
  std::int64_t rows, in, out;
  bool is_head;  // weight [out, in], as the embedding stores it
};

// Per rank: tiny on 2 data ranks; small with tensor 2, and with data 2; GPT-2 124M with tensor 2.
const Linear kLinears[] = {
    {"tiny.qkv", 1024, 128, 384, false},          {"tiny.fc", 1024, 128, 512, false},
    {"tiny.ffn_out", 1024, 512, 128, false},      {"tiny.head", 1024, 128, 256, true},
    {"small_tp2.qkv", 1024, 384, 576, false},     {"small_tp2.proj", 1024, 192, 384, false},
    {"small_tp2.fc", 1024, 384, 768, false},      {"small_tp2.ffn_out", 1024, 768, 384, false},
    {"small_tp2.head", 1024, 384, 25152, true},   {"small_dp2.qkv", 512, 384, 1152, false},
    {"small_dp2.fc", 512, 384, 1536, false},      {"small_dp2.ffn_out", 512, 1536, 384, false},
    {"small_dp2.head", 512, 384, 50304, true},    {"gpt2_tp2.qkv", 1024, 768, 1152, false},
    {"gpt2_tp2.proj", 1024, 384, 768, false},     {"gpt2_tp2.fc", 1024, 768, 1536, false},
    {"gpt2_tp2.ffn_out", 1024, 1536, 768, false}, {"gpt2_tp2.head", 1024, 768, 25136, true}};

class Operands {
 public:
  Tensor random(DType dtype, Shape shape) {
    const auto noise = device->allocate(static_cast<std::size_t>(shape.size()) * sizeof(float));
    const Tensor numbers = noise->tensor(DType::f32, shape);
    for (std::int64_t i = 0; i < shape.size(); ++i)
      numbers.as<float>()[i] = static_cast<float>(i * 2654435761 % 65536) / 32768 - 1;
    buffers_.push_back(device->allocate(static_cast<std::size_t>(shape.size()) * bytes_of(dtype)));
    const Tensor result = buffers_.back()->tensor(dtype, shape);
    device->kernels().cast(*stream, numbers, result);
    return result;
  }
  std::unique_ptr<Device> device = create_cpu_device();
  std::unique_ptr<Stream> stream = device->create_stream();

 private:
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

MatmulArgs arguments_of(const Linear& l, Pass pass, DType dtype, Operands& operands) {
  const Tensor x = operands.random(dtype, {l.rows, l.in}), y = operands.random(dtype, {l.rows, l.out});
  const Tensor weight = operands.random(dtype, l.is_head ? Shape{l.out, l.in} : Shape{l.in, l.out});
  if (pass == kForward) return {x, weight, y, false, l.is_head, {}, false};
  if (pass == kInput) return {y, weight, x, false, !l.is_head, {}, false};
  const Tensor d_weight = operands.random(DType::f32, weight.shape);
  const bool add = pass == kWeightAdd;
  return l.is_head ? MatmulArgs{y, x, d_weight, true, false, {}, add}
                   : MatmulArgs{x, y, d_weight, true, false, {}, add};
}

void set_flop(benchmark::State& state, double flop) {
  state.counters["GFLOP/s"] = benchmark::Counter(flop * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void product(benchmark::State& state, const Linear& linear, Pass pass, DType dtype) {
  Operands operands;
  const MatmulArgs args = arguments_of(linear, pass, dtype, operands);
  for (auto _ : state) operands.device->kernels().matmul(*operands.stream, args);
  set_flop(state, 2.0 * static_cast<double>(linear.rows * linear.in * linear.out));
}

template <class Tile>
void peak(benchmark::State& state) {
  constexpr int kRows = kTileRows<Tile, 2>, kSteps = 512;
  alignas(64) typename Tile::Unit a[kRows] = {}, b[2 * Tile::kLanes] = {};
  alignas(64) typename Tile::Real c[kRows * 2 * Tile::kLanes] = {};
  TileProduct<Tile> same_step_again{a, 0, b, 0, c, 2 * Tile::kLanes, kSteps, true};
  for (auto _ : state) {
    benchmark::DoNotOptimize(same_step_again);
    multiply_tile<Tile, kRows, 2, true>(same_step_again);
    benchmark::ClobberMemory();
  }
  set_flop(state, 2.0 * kRows * 2 * Tile::kLanes * kSteps * Tile::kNumbersPerUnit);
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->Unit(benchmark::kMicrosecond)
      ->MinTime(0.05)
      ->Repetitions(7)
      ->ReportAggregatesOnly()
      ->ComputeStatistics(
          "min",
          [](const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); })
      ->ComputeStatistics("max", [](const std::vector<double>& times) {
        return *std::max_element(times.begin(), times.end());
      });
}

}  // namespace

int main(int argc, char** argv) {
  add("peak/f32", peak<NumberTile<float>>);
#ifdef __AVX512BF16__
  add("peak/bf16", peak<Bf16PairTile>);
#endif
  for (const Linear& linear : kLinears)
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const Pass pass : {kForward, kInput, kWeight, kWeightAdd})
        add(std::string(linear.name) + "/" + name_of(dtype) + "/" + kPassNames[pass],
            [&linear, pass, dtype](benchmark::State& state) { product(state, linear, pass, dtype); });
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
