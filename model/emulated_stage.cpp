#include "model/emulated_stage.hpp"

namespace tenax::model {

using kernels::DType;
using kernels::Tensor;

EmulatedStage::EmulatedStage(const EmulatedStageCosts& costs, bool first, bool last,
                             kernels::EmulatedDevice& device, kernels::Stream& stream)
    : costs_(costs), first_(first), last_(last), device_(device), stream_(stream) {}

Tensor EmulatedStage::boundary() const {
  // The narrowest type, so that the size is right to two bytes.
  constexpr std::size_t kWidth = bytes_of(DType::bf16);
  return {nullptr, DType::bf16, {static_cast<std::int64_t>((costs_.activation_bytes + kWidth - 1) / kWidth)}};
}

Tensor EmulatedStage::input(int) { return first_ ? Tensor{} : boundary(); }

Tensor EmulatedStage::output(int) { return last_ ? Tensor{} : boundary(); }

void EmulatedStage::end_pass() {
  if (!tensor_group_) return;
  Tensor activation = boundary();
  if (activation.size() == 0) activation = {nullptr, DType::bf16, {1}};
  tensor_group_->all_reduce(stream_, activation, comm::ReduceOp::sum);
}

void EmulatedStage::forward(int, int, ForwardGradients) {
  device_.occupy(stream_, costs_.forward_s);
  end_pass();
}

void EmulatedStage::backward_input(int) {
  device_.occupy(stream_, costs_.backward_input_s);
  end_pass();
}

void EmulatedStage::backward_weight(int, bool, const GradientsReady& ready) {
  const int pieces = ready ? kRows : 1;
  for (int row = 0; row < pieces; ++row) {
    device_.occupy(stream_, costs_.backward_weight_s / pieces);
    if (row + 1 == pieces) end_pass();
    if (ready) ready(row, row + 1);
  }
}

}  // namespace tenax::model
