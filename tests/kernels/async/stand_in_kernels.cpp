#include "tests/kernels/async/stand_in_kernels.hpp"

#include <vector>

namespace tenax::kernels::test {
namespace {

void enqueue(Stream& stream, StreamQueue::Work work) {
  dynamic_cast<StandInStream&>(stream).enqueue(std::move(work));
}

}  // namespace

template <class Args, class... Tensors>
void StandInKernels::run(Stream& stream, void (Kernels::*op)(Stream&, const Args&), Args args,
                         Tensors Args::*... tensors) {
  ((args.*tensors = memory_.behind(args.*tensors)), ...);
  enqueue(stream, [this, op, args](Stream& inner) { (cpu_.*op)(inner, args); });
}

void StandInKernels::run(Stream& stream, void (Kernels::*op)(Stream&, Tensor, Tensor), Tensor source,
                         Tensor destination) {
  enqueue(stream, [this, op, source = memory_.behind(source), destination = memory_.behind(destination)](
                      Stream& inner) { (cpu_.*op)(inner, source, destination); });
}

void StandInKernels::meet(Stream& stream, const char* name, bool accumulate,
                          std::initializer_list<Tensor> operands) {
  stream.reserve_scratch(scratch_bytes_);
  if (products_) products_->add(name, accumulate, operands);
}

void StandInKernels::matmul(Stream& s, const MatmulArgs& args) {
  using A = MatmulArgs;
  const char* const names[] = {"a b", "a b^T", "a^T b", "a^T b^T"};
  meet(s, names[2 * args.transpose_a + args.transpose_b], args.accumulate, {args.a, args.b, args.c});
  run(s, &Kernels::matmul, args, &A::a, &A::b, &A::c, &A::bias);
}
void StandInKernels::linear_forward(Stream& s, const LinearForwardArgs& args) {
  using A = LinearForwardArgs;
  meet(s, "linear", false, {args.x, args.weight, args.y});
  run(s, &Kernels::linear_forward, args, &A::x, &A::weight, &A::bias, &A::y);
}
void StandInKernels::linear_gelu_forward(Stream& s, const LinearGeluForwardArgs& args) {
  using A = LinearGeluForwardArgs;
  meet(s, "linear, gelu", false, {args.x, args.weight, args.y});
  run(s, &Kernels::linear_gelu_forward, args, &A::x, &A::weight, &A::bias, &A::pre, &A::y);
}
void StandInKernels::linear_backward_input(Stream& s, const LinearBackwardInputArgs& args) {
  using A = LinearBackwardInputArgs;
  meet(s, "d_input", false, {args.d_y, args.weight, args.d_x});
  run(s, &Kernels::linear_backward_input, args, &A::d_y, &A::weight, &A::d_x);
}
void StandInKernels::linear_gelu_backward_input(Stream& s, const LinearGeluBackwardInputArgs& args) {
  using A = LinearGeluBackwardInputArgs;
  meet(s, "d_input, d_gelu", false, {args.d_y, args.weight, args.d_pre});
  run(s, &Kernels::linear_gelu_backward_input, args, &A::d_y, &A::weight, &A::pre, &A::d_pre, &A::scratch);
}
void StandInKernels::linear_backward_weight(Stream& s, const LinearBackwardWeightArgs& args) {
  using A = LinearBackwardWeightArgs;
  meet(s, "d_weight", args.accumulate, {args.x, args.d_y, args.d_weight});
  run(s, &Kernels::linear_backward_weight, args, &A::x, &A::d_y, &A::d_weight, &A::d_bias);
}
void StandInKernels::bias_gradient(Stream& s, const BiasGradientArgs& args) {
  run(s, &Kernels::bias_gradient, args, &BiasGradientArgs::d_y, &BiasGradientArgs::d_bias);
}
void StandInKernels::gelu_forward(Stream& s, const GeluForwardArgs& args) {
  run(s, &Kernels::gelu_forward, args, &GeluForwardArgs::x, &GeluForwardArgs::y);
}
void StandInKernels::gelu_backward(Stream& s, const GeluBackwardArgs& args) {
  using A = GeluBackwardArgs;
  run(s, &Kernels::gelu_backward, args, &A::x, &A::d_y, &A::d_x);
}
void StandInKernels::layernorm_forward(Stream& s, const LayerNormForwardArgs& args) {
  using A = LayerNormForwardArgs;
  run(s, &Kernels::layernorm_forward, args, &A::x, &A::gamma, &A::beta, &A::y, &A::mean, &A::rstd);
}
void StandInKernels::residual_layernorm_forward(Stream& s, const ResidualLayerNormForwardArgs& args) {
  using A = ResidualLayerNormForwardArgs;
  run(s, &Kernels::residual_layernorm_forward, args, &A::x, &A::delta, &A::bias, &A::sum, &A::gamma, &A::beta,
      &A::y, &A::mean, &A::rstd);
}
void StandInKernels::layernorm_backward(Stream& s, const LayerNormBackwardArgs& args) {
  using A = LayerNormBackwardArgs;
  run(s, &Kernels::layernorm_backward, args, &A::x, &A::mean, &A::rstd, &A::gamma, &A::d_y, &A::d_residual,
      &A::d_x, &A::d_gamma, &A::d_beta);
}
void StandInKernels::residual_add(Stream& s, const ResidualAddArgs& args) {
  using A = ResidualAddArgs;
  run(s, &Kernels::residual_add, args, &A::x, &A::delta, &A::bias, &A::out);
}
void StandInKernels::attention_forward(Stream& s, const AttentionForwardArgs& args) {
  using A = AttentionForwardArgs;
  run(s, &Kernels::attention_forward, args, &A::qkv, &A::out, &A::log_sum_exp);
}
void StandInKernels::attention_backward(Stream& s, const AttentionBackwardArgs& args) {
  using A = AttentionBackwardArgs;
  run(s, &Kernels::attention_backward, args, &A::qkv, &A::out, &A::d_out, &A::log_sum_exp, &A::d_qkv);
}
void StandInKernels::attention_decode(Stream& s, const AttentionDecodeArgs& args) {
  run(s, &Kernels::attention_decode, args, &AttentionDecodeArgs::qkv, &AttentionDecodeArgs::out);
}
void StandInKernels::embedding_forward(Stream& s, const EmbeddingForwardArgs& args) {
  using A = EmbeddingForwardArgs;
  run(s, &Kernels::embedding_forward, args, &A::tokens, &A::wte, &A::wpe, &A::out);
}
void StandInKernels::embedding_backward(Stream& s, const EmbeddingBackwardArgs& args) {
  using A = EmbeddingBackwardArgs;
  run(s, &Kernels::embedding_backward, args, &A::tokens, &A::d_x, &A::d_wte, &A::d_wpe);
}
void StandInKernels::cross_entropy_forward(Stream& s, const CrossEntropyForwardArgs& args) {
  using A = CrossEntropyForwardArgs;
  run(s, &Kernels::cross_entropy_forward, args, &A::logits, &A::targets, &A::row_max, &A::row_sum,
      &A::target_logit);
}
void StandInKernels::cross_entropy_rescale(Stream& s, const CrossEntropyRescaleArgs& args) {
  using A = CrossEntropyRescaleArgs;
  run(s, &Kernels::cross_entropy_rescale, args, &A::local_max, &A::global_max, &A::row_sum);
}
void StandInKernels::cross_entropy_loss(Stream& s, const CrossEntropyLossArgs& args) {
  using A = CrossEntropyLossArgs;
  run(s, &Kernels::cross_entropy_loss, args, &A::row_max, &A::row_sum, &A::target_logit, &A::log_sum_exp,
      &A::losses);
}
void StandInKernels::cross_entropy_backward(Stream& s, const CrossEntropyBackwardArgs& args) {
  using A = CrossEntropyBackwardArgs;
  run(s, &Kernels::cross_entropy_backward, args, &A::logits, &A::targets, &A::log_sum_exp, &A::d_logits);
}
void StandInKernels::update_coefficients(Stream& s, const UpdateCoefficientsArgs& args) {
  run(s, &Kernels::update_coefficients, args, &UpdateCoefficientsArgs::coefficients);
}
void StandInKernels::run_update(Stream& s, void (Kernels::*update)(Stream&, const UpdateArgs&),
                                const UpdateArgs& args) {
  std::vector<UpdateStretch> stretches(args.stretches.begin(), args.stretches.end());
  for (UpdateStretch& stretch : stretches) {
    for (Tensor* const tensor : {&stretch.master, &stretch.gradient, &stretch.compute})
      *tensor = memory_.behind(*tensor);
    for (Tensor& moment : stretch.moments) moment = memory_.behind(moment);
  }
  enqueue(s, [this, update, stretches, coefficients = memory_.behind(args.coefficients)](Stream& inner) {
    (cpu_.*update)(inner, {stretches, coefficients});
  });
}
void StandInKernels::adamw(Stream& s, const UpdateArgs& args) { run_update(s, &Kernels::adamw, args); }
void StandInKernels::lion(Stream& s, const UpdateArgs& args) { run_update(s, &Kernels::lion, args); }
void StandInKernels::sum_of_squares(Stream& s, const SumOfSquaresArgs& args) {
  std::vector<Tensor> parts(args.parts.begin(), args.parts.end());
  for (Tensor& part : parts) part = memory_.behind(part);
  enqueue(s, [this, parts, result = args.result](Stream& inner) {
    cpu_.sum_of_squares(inner, {parts, result});
  });
}
void StandInKernels::zero(Stream& s, Tensor destination) {
  enqueue(
      s, [this, destination = memory_.behind(destination)](Stream& inner) { cpu_.zero(inner, destination); });
}
void StandInKernels::copy(Stream& s, Tensor source, Tensor destination) {
  run(s, &Kernels::copy, source, destination);
}
void StandInKernels::cast(Stream& s, Tensor source, Tensor destination) {
  run(s, &Kernels::cast, source, destination);
}
void StandInKernels::add(Stream& s, Tensor source, Tensor destination) {
  run(s, &Kernels::add, source, destination);
}
void StandInKernels::maximum(Stream& s, Tensor source, Tensor destination) {
  run(s, &Kernels::maximum, source, destination);
}
void StandInKernels::chunk_sum(Stream& s, const ChunkSumArgs& args) {
  using A = ChunkSumArgs;
  run(s, &Kernels::chunk_sum, args, &A::own, &A::incoming, &A::result);
}

}  // namespace tenax::kernels::test
