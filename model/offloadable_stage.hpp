// OffloadableStage: a stage whose slots' contents may be moved elsewhere between passes.
#pragma once

#include "model/pipeline_stage.hpp"

namespace tenax::model {

class OffloadableStage : public PipelineStage {
 public:
  /// All that a slot keeps of its microbatch between passes, in the stage's device memory; every slot's has the same layout.
  virtual kernels::Tensor contents(int slot) = 0;
  /// The slot's contents are now those that another slot, or this one, had of `microbatch`.
  virtual void adopt(int slot, int microbatch) = 0;
};

}  // namespace tenax::model
