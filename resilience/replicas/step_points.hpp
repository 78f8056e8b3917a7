// StepPoints: hears what a rank of a replica comes to in a step. Fault injection strikes there.
#pragma once

#include <cstdint>

namespace tenax::resilience {

enum class StepPoint : char {
  passes,         ///< the step has begun
  exchange,       ///< passes are done, sums over replicas are awaited
  vote,           ///< the rank's own sums are all there, or have failed
  update,         ///< the step is committed, its weights are not changed yet
  commit,         ///< they are
  state_send,     ///< a slice of the state is to be sent
  state_receive,  ///< a slice has come
  join,           ///< in the first epoch of an incarnation, before its first step
  checkpoint,     ///< of the replica that writes it: the snapshot is taken
  saving,         ///< again and again while a checkpoint is waited for
};

/// Here nobody listens. Thread rule: any thread.
class StepPoints {
 public:
  virtual ~StepPoints() = default;
  /// `step`: the one under way. State that is sent or received is that with which it begins.
  virtual void reach(StepPoint point, std::int64_t step) {
    static_cast<void>(point);
    static_cast<void>(step);
  }
};

}  // namespace tenax::resilience
