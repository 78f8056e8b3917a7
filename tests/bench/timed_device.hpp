// TimedDevice: another device, with events before and after every operation.
#pragma once

#include "kernels/device.hpp"
#include "kernels/kernels.hpp"
#include "tests/bench/op_meter.hpp"

namespace tenax::bench {

class TimedKernels : public kernels::Kernels {
 public:
  /// Both must outlive this.
  TimedKernels(kernels::Kernels& inner, OpMeter& meter) : inner_(inner), meter_(meter) {}

#define TENAX_TIMED(operation, Args)                                                            \
  void operation(kernels::Stream& stream, const kernels::Args& args) override {                 \
    meter_.measure(#operation, cost_of(args), stream, [&] { inner_.operation(stream, args); }); \
  }
  TENAX_TIMED(matmul, MatmulArgs)
  TENAX_TIMED(linear_forward, LinearForwardArgs)
  TENAX_TIMED(linear_gelu_forward, LinearGeluForwardArgs)
  TENAX_TIMED(linear_backward_input, LinearBackwardInputArgs)
  TENAX_TIMED(linear_gelu_backward_input, LinearGeluBackwardInputArgs)
  TENAX_TIMED(linear_backward_weight, LinearBackwardWeightArgs)
  TENAX_TIMED(bias_gradient, BiasGradientArgs)
  TENAX_TIMED(gelu_forward, GeluForwardArgs)
  TENAX_TIMED(gelu_backward, GeluBackwardArgs)
  TENAX_TIMED(layernorm_forward, LayerNormForwardArgs)
  TENAX_TIMED(residual_layernorm_forward, ResidualLayerNormForwardArgs)
  TENAX_TIMED(layernorm_backward, LayerNormBackwardArgs)
  TENAX_TIMED(residual_add, ResidualAddArgs)
  TENAX_TIMED(chunk_sum, ChunkSumArgs)
  TENAX_TIMED(attention_forward, AttentionForwardArgs)
  TENAX_TIMED(attention_backward, AttentionBackwardArgs)
  TENAX_TIMED(embedding_forward, EmbeddingForwardArgs)
  TENAX_TIMED(embedding_backward, EmbeddingBackwardArgs)
  TENAX_TIMED(cross_entropy_forward, CrossEntropyForwardArgs)
  TENAX_TIMED(cross_entropy_rescale, CrossEntropyRescaleArgs)
  TENAX_TIMED(cross_entropy_loss, CrossEntropyLossArgs)
  TENAX_TIMED(cross_entropy_backward, CrossEntropyBackwardArgs)
  TENAX_TIMED(update_coefficients, UpdateCoefficientsArgs)
  TENAX_TIMED(adamw, UpdateArgs)
  TENAX_TIMED(lion, UpdateArgs)
  TENAX_TIMED(sum_of_squares, SumOfSquaresArgs)
#undef TENAX_TIMED

  void zero(kernels::Stream& stream, kernels::Tensor destination) override {
    meter_.measure("zero", cost_of_elementwise({}, destination, false), stream,
                   [&] { inner_.zero(stream, destination); });
  }

#define TENAX_TIMED(operation, accumulates)                                                               \
  void operation(kernels::Stream& stream, kernels::Tensor source, kernels::Tensor destination) override { \
    meter_.measure(#operation, cost_of_elementwise(source, destination, accumulates), stream,             \
                   [&] { inner_.operation(stream, source, destination); });                               \
  }
  TENAX_TIMED(copy, false)
  TENAX_TIMED(cast, false)
  TENAX_TIMED(add, true)
  TENAX_TIMED(maximum, true)
#undef TENAX_TIMED

 private:
  kernels::Kernels& inner_;
  OpMeter& meter_;
};

class TimedDevice : public kernels::Device {
 public:
  /// Both must outlive this.
  TimedDevice(kernels::Device& inner, OpMeter& meter) : inner_(inner), kernels_(inner.kernels(), meter) {}

  kernels::DeviceKind kind() const override { return inner_.kind(); }
  std::string name() const override { return inner_.name(); }
  std::size_t memory_bytes() const override { return inner_.memory_bytes(); }
  bool has_data() const override { return inner_.has_data(); }
  bool is_host_memory() const override { return inner_.is_host_memory(); }
  bool is_asynchronous() const override { return inner_.is_asynchronous(); }
  std::string bus_id() const override { return inner_.bus_id(); }
  std::unique_ptr<kernels::Buffer> allocate(std::size_t bytes, kernels::MemoryKind kind) override {
    return inner_.allocate(bytes, kind);
  }
  std::unique_ptr<kernels::Stream> create_stream() override { return inner_.create_stream(); }
  std::unique_ptr<kernels::Event> create_event() override { return inner_.create_event(); }
  std::unique_ptr<kernels::Flag> create_flag() override { return inner_.create_flag(); }
  kernels::Kernels& kernels() override { return kernels_; }
  int threads() const override { return inner_.threads(); }

 private:
  kernels::Device& inner_;
  TimedKernels kernels_;
};

}  // namespace tenax::bench
