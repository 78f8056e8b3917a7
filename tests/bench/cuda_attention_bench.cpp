// cuda_attention_bench: attention on this machine's GPU, forward and backward (in place, as a layer runs it),
// for GPT-2 124M and 1.5B with 32 sequences in bf16, deterministic and not, and 124M with 4 in fp32. TFLOP/s
// count the products of what a query sees: 2 forward and 5 backward, half of T². Numbers are random.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "kernels/cuda_device.hpp"
#include "kernels/error.hpp"
#include "kernels/kernels.hpp"
#include "kernels/random.hpp"

namespace {

using namespace tenax::kernels;

struct Shape3 {
  std::int64_t sequences, length, heads, head_size;
};

/// Tensors of one attention layer, filled with the same few random numbers over and over.
class Layer {
 public:
  Layer(Device& device, Stream& stream, const Shape3& s, DType dtype)
      : device_(device),
        stream_(stream),
        heads_(static_cast<int>(s.heads)),
        qkv_(made({s.sequences, s.length, 3 * s.heads * s.head_size}, dtype)),
        out_(made({s.sequences, s.length, s.heads * s.head_size}, dtype)),
        d_out_(made({s.sequences, s.length, s.heads * s.head_size}, dtype)),
        log_sum_exp_(made({s.sequences, s.heads, s.length}, accumulation_of(dtype))) {}
  void forward() { device_.kernels().attention_forward(stream_, {qkv_, out_, log_sum_exp_, heads_}); }
  void backward() {
    device_.kernels().attention_backward(stream_, {qkv_, out_, d_out_, log_sum_exp_, qkv_, heads_});
  }
  /// q, k and v as they were: a backward pass in place leaves its gradients there.
  void refill() { fill(qkv_); }

 private:
  Tensor made(Shape shape, DType dtype) {
    buffers_.push_back(device_.allocate(static_cast<std::size_t>(shape.size()) * bytes_of(dtype)));
    const Tensor tensor = buffers_.back()->tensor(dtype, shape);
    fill(tensor);
    return tensor;
  }
  void fill(const Tensor& tensor) {
    constexpr std::int64_t kDifferent = 1 << 16;
    const auto numbers = device_.allocate(kDifferent * sizeof(float), MemoryKind::pinned_host);
    const CounterRandom random(1, "attention");
    for (std::int64_t i = 0; i < kDifferent; ++i)
      static_cast<float*>(numbers->data())[i] =
          static_cast<float>(random.normal(static_cast<std::uint64_t>(i)));
    for (std::int64_t begin = 0; begin < tensor.size(); begin += kDifferent) {
      const Shape part{std::min(kDifferent, tensor.size() - begin)};
      device_.kernels().cast(stream_, numbers->tensor(DType::f32, part), tensor.part(begin, part));
    }
    stream_.synchronize(Deadline::after_s(60));
  }

  Device& device_;
  Stream& stream_;
  int heads_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  Tensor qkv_, out_, d_out_, log_sum_exp_;
};

/// Median seconds of one operation, `prepare` not counted.
template <class Prepare, class Operation>
double seconds_of(Device& device, Stream& stream, const Prepare& prepare, const Operation& operation) {
  std::vector<double> seconds;
  const auto begin = device.create_event(), end = device.create_event();
  for (int round = 0; round < 8; ++round) {
    prepare();
    stream.record(*begin);
    operation();
    stream.record(*end);
    stream.synchronize(Deadline::after_s(60));
    if (round > 0)
      seconds.push_back(end->time_s() - begin->time_s());  // the first makes plans and scratch memory
  }
  std::nth_element(seconds.begin(), seconds.begin() + 3, seconds.end());
  return seconds[3];
}

void measure(const char* name, const Shape3& s, DType dtype, bool deterministic) {
  CudaOptions options;
  options.deterministic = deterministic;
  const auto device = create_cuda_device(options);
  const auto stream = device->create_stream();
  Layer layer(*device, *stream, s, dtype);
  const double forward = seconds_of(
      *device, *stream, [] {}, [&] { layer.forward(); });
  const double backward = seconds_of(
      *device, *stream,
      [&] {
        layer.refill();
        layer.forward();
      },
      [&] { layer.backward(); });
  const double product =
      1e-12 * static_cast<double>(s.sequences * s.heads * s.length * s.length * s.head_size);
  std::printf("%-12s %-5s %-18s %9.3f %9.1f %9.3f %9.1f\n", name, name_of(dtype),
              deterministic ? "deterministic" : "any order", 1e3 * forward, 2 * product / forward,
              1e3 * backward, 5 * product / backward);
}

}  // namespace

int main() {
  try {
    std::printf("%-12s %-5s %-18s %9s %9s %9s %9s\n", "32 sequences", "", "", "fwd ms", "TFLOP/s", "bwd ms",
                "TFLOP/s");
    for (const bool deterministic : {true, false}) {
      measure("GPT-2 124M", {32, 1024, 12, 64}, DType::bf16, deterministic);
      measure("GPT-2 1.5B", {32, 1024, 25, 64}, DType::bf16, deterministic);
    }
    measure("124M, 4 seq.", {4, 1024, 12, 64}, DType::f32, true);
  } catch (const Error& error) {
    std::fprintf(stderr, "cuda_attention_bench: %s\n", error.what());
    return 1;
  }
}
