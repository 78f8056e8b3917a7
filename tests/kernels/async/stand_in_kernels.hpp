// The stand-in's operations: the CPU's, enqueued.
#pragma once

#include "kernels/kernels.hpp"
#include "tests/kernels/async/products_met.hpp"
#include "tests/kernels/async/stand_in_memory.hpp"
#include "tests/kernels/async/stand_in_stream.hpp"

namespace tenax::kernels::test {

class StandInKernels final : public Kernels {
 public:
  StandInKernels(Kernels& cpu, const StandInMemory& memory, const StandInOptions& options)
      : cpu_(cpu), memory_(memory), products_(options.products), scratch_bytes_(options.scratch_bytes) {}

  void matmul(Stream&, const MatmulArgs&) override;
  void linear_forward(Stream&, const LinearForwardArgs&) override;
  void linear_gelu_forward(Stream&, const LinearGeluForwardArgs&) override;
  void linear_backward_input(Stream&, const LinearBackwardInputArgs&) override;
  void linear_gelu_backward_input(Stream&, const LinearGeluBackwardInputArgs&) override;
  void linear_backward_weight(Stream&, const LinearBackwardWeightArgs&) override;
  void bias_gradient(Stream&, const BiasGradientArgs&) override;
  void gelu_forward(Stream&, const GeluForwardArgs&) override;
  void gelu_backward(Stream&, const GeluBackwardArgs&) override;
  void layernorm_forward(Stream&, const LayerNormForwardArgs&) override;
  void residual_layernorm_forward(Stream&, const ResidualLayerNormForwardArgs&) override;
  void layernorm_backward(Stream&, const LayerNormBackwardArgs&) override;
  void residual_add(Stream&, const ResidualAddArgs&) override;
  void attention_forward(Stream&, const AttentionForwardArgs&) override;
  void attention_backward(Stream&, const AttentionBackwardArgs&) override;
  void attention_decode(Stream&, const AttentionDecodeArgs&) override;
  void embedding_forward(Stream&, const EmbeddingForwardArgs&) override;
  void embedding_backward(Stream&, const EmbeddingBackwardArgs&) override;
  void cross_entropy_forward(Stream&, const CrossEntropyForwardArgs&) override;
  void cross_entropy_rescale(Stream&, const CrossEntropyRescaleArgs&) override;
  void cross_entropy_loss(Stream&, const CrossEntropyLossArgs&) override;
  void cross_entropy_backward(Stream&, const CrossEntropyBackwardArgs&) override;
  void update_coefficients(Stream&, const UpdateCoefficientsArgs&) override;
  void adamw(Stream&, const UpdateArgs&) override;
  void lion(Stream&, const UpdateArgs&) override;
  void sum_of_squares(Stream&, const SumOfSquaresArgs&) override;
  void zero(Stream&, Tensor destination) override;
  void copy(Stream&, Tensor source, Tensor destination) override;
  void cast(Stream&, Tensor source, Tensor destination) override;
  void add(Stream&, Tensor source, Tensor destination) override;
  void maximum(Stream&, Tensor source, Tensor destination) override;
  void chunk_sum(Stream&, const ChunkSumArgs&) override;

 private:
  template <class Args, class... Tensors>
  void run(Stream& stream, void (Kernels::*op)(Stream&, const Args&), Args args, Tensors Args::*... tensors);
  void run(Stream& stream, void (Kernels::*op)(Stream&, Tensor, Tensor), Tensor source, Tensor destination);
  void meet(Stream& stream, const char* name, bool accumulate, std::initializer_list<Tensor> operands);
  void run_update(Stream& stream, void (Kernels::*update)(Stream&, const UpdateArgs&),
                  const UpdateArgs& args);

  Kernels& cpu_;
  const StandInMemory& memory_;
  ProductsMet* products_;  // may be null
  std::size_t scratch_bytes_;
};

}  // namespace tenax::kernels::test
