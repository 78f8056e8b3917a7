// PipelineStage: what an executor needs of the part of a model that one rank computes. GptStage is
// the real one.
//
// A *slot* holds the activations of one live microbatch, from its forward pass to the end of its
// backward_weight. The executor decides which microbatch has which slot, and never runs two
// passes at once.
#pragma once

#include <functional>

#include "kernels/device.hpp"
#include "kernels/tensor.hpp"

namespace tenax::model {

/// Called while the last microbatch's backward_weight runs: the gradients of parameter rows [begin,
/// end) are final.
using GradientsReady = std::function<void(int begin, int end)>;

/// Which parameter gradients a forward pass forms: none, or those of the head's tied weights, which it
/// overwrites or adds to. A chunk's logits are gone when its backward pass comes.
enum class ForwardGradients { none, overwrite, add };

class PipelineStage {
 public:
  virtual ~PipelineStage() = default;
  virtual kernels::Stream& stream() = 0;

  /// Boundary tensors of a slot, [rows, H], compute type. `input` is absent on the first stage,
  /// `output` on the last. The gradient of an output is received into the output's own memory, that
  /// of an input is left in the input's: a send of either must be complete before the memory is
  /// written again.
  virtual kernels::Tensor input(int slot) = 0;
  virtual kernels::Tensor output(int slot) = 0;

  /// Computes the output (last stage: the losses) of `microbatch`, whose samples the stage already
  /// has, from `input`. A backward pass must not follow where `gradients` is none.
  virtual void forward(int slot, int microbatch, ForwardGradients gradients) = 0;
  /// Activation gradients only: leaves the input's gradient in input(slot).
  virtual void backward_input(int slot) = 0;
  /// Adds the parameter gradients (`accumulate` false: overwrites). After backward_input of
  /// the same slot.
  virtual void backward_weight(int slot, bool accumulate, const GradientsReady& ready) = 0;
  /// Both at once, for schedules that do not split the backward pass.
  virtual void backward(int slot, bool accumulate, const GradientsReady& ready) {
    backward_input(slot);
    backward_weight(slot, accumulate, ready);
  }
};

class OffloadableStage : public PipelineStage {
 public:
  /// All that a slot keeps of its microbatch between passes, in the stage's device memory; every
  /// slot's has the same layout.
  virtual kernels::Tensor contents(int slot) = 0;
  /// The slot's contents are now those that another slot, or this one, had of `microbatch`.
  virtual void adopt(int slot, int microbatch) = 0;
};

}  // namespace tenax::model
