// BitFlips: turns bits of a rank's state, or of its gradients, as a deck's [[inject]] entries say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/deck/choice.hpp"
#include "io/state_range.hpp"
#include "resilience/faults/replica_fault_injector.hpp"

namespace tenax::resilience {

struct BitFlipRequest {
  int entry = 0;  ///< its place in the deck
  FaultWindow window;
  bool repeats = false;
  std::string tensor;  ///< Hugging Face name
  io::FlippedPart part = io::FlippedPart::weight;
  std::int64_t element = -1;  ///< of the whole tensor; −1: drawn among those that the rank holds
  std::int64_t bit = -1;      ///< −1: drawn
  std::uint64_t seed = 0;
};

/// Where a flip can strike: a range of the rank's state, and the gradients of its elements before and after their sum over
/// replicas, in host memory.
struct FlipTarget {
  io::StateRange range;
  float* own_sum = nullptr;
  float* sum = nullptr;
};

/// Of one rank. Thread rule: the thread that trains.
class BitFlips {
 public:
  /// The targets' memory must outlive it. Throws kernels::Error(job) where the rank does not hold an element.
  BitFlips(const std::vector<BitFlipRequest>& requests, const std::vector<FlipTarget>& targets,
           const FaultSeat& seat);

  /// The next calls are about this step.
  void begin_step(std::int64_t step) { clock_.begin_step(step); }
  /// The state is at rest: what is to be wrong in it becomes so.
  void strike_state();
  /// Of the own gradients, [`begin`, `begin` + `count`) are final; or of the sums.
  void strike_own_sums(const float* begin, std::int64_t count);
  void strike_sums();

 private:
  struct Flip {
    FaultOccasion occasion;
    io::FlippedPart part;
    float* word;
    int bit;
  };
  void strike(const Flip& flip) const;

  FaultClock clock_;
  std::vector<Flip> flips_;
};

}  // namespace tenax::resilience
