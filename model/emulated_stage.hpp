// EmulatedStage: a pipeline stage whose passes take their configured time on an emulated device.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/communicator.hpp"
#include "kernels/emulated_device.hpp"
#include "model/pipeline_stage.hpp"

namespace tenax::model {

struct EmulatedStageCosts {
  double forward_s = 0, backward_input_s = 0, backward_weight_s = 0;  ///< one microbatch
  std::size_t activation_bytes =
      0;  ///< size of a boundary tensor, either direction; rounded up to an even number
};

/// Its gradients count as kRows parameter rows of equal size, which the last backward_weight makes
/// final one after the other.
class EmulatedStage final : public PipelineStage {
 public:
  static constexpr int kRows = 8;

  /// `device` and `stream` (one of its own) must outlive the stage.
  EmulatedStage(const EmulatedStageCosts& costs, bool first, bool last, kernels::EmulatedDevice& device,
                kernels::Stream& stream);
  /// From now on a pass ends when the slowest rank's of its tensor group does: the ranks exchange
  /// messages without data as large as a boundary tensor. `group` must outlive the stage.
  void end_passes_with(comm::Communicator& group) { tensor_group_ = &group; }

  kernels::Stream& stream() override { return stream_; }
  /// activation_bytes long, without data; absent on the first stage / the last.
  kernels::Tensor input(int slot) override;
  kernels::Tensor output(int slot) override;
  void forward(int slot, int microbatch, ForwardGradients gradients) override;
  void backward_input(int slot) override;
  void backward_weight(int slot, bool accumulate, const GradientsReady& ready) override;

 private:
  kernels::Tensor boundary() const;
  void end_pass();

  EmulatedStageCosts costs_;
  bool first_, last_;
  kernels::EmulatedDevice& device_;
  kernels::Stream& stream_;
  comm::Communicator* tensor_group_ = nullptr;
};

}  // namespace tenax::model
