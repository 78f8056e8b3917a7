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

void EmulatedStage::forward(int, int) { device_.occupy(stream_, costs_.forward_s); }

void EmulatedStage::backward_input(int) { device_.occupy(stream_, costs_.backward_input_s); }

void EmulatedStage::backward_weight(int, bool, const GradientsReady& ready) {
  if (!ready) return device_.occupy(stream_, costs_.backward_weight_s);
  for (int row = 0; row < kRows; ++row) {
    device_.occupy(stream_, costs_.backward_weight_s / kRows);
    ready(row, row + 1);
  }
}

}  // namespace tenax::model
