// ComputeFaults: how slow a rank's device is at the moment, and the wrappers that make it so.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/deck/fault_trace.hpp"
#include "kernels/emulated_device.hpp"
#include "resilience/faults/fault_clock.hpp"

namespace tenax::resilience {

/// Operations of a rank's device take `factor` times as long, or as many times as a trace says.
struct ComputeFault {
  FaultWindow window;
  double factor = 1;                            ///< ≥ 1
  std::shared_ptr<const io::FaultTrace> trace;  ///< of factors; may be absent
};

/// Of one rank. Thread rule: one thread begins steps, any thread asks.
class ComputeFaults {
 public:
  explicit ComputeFaults(std::vector<ComputeFault> faults) : faults_(std::move(faults)) {}

  /// At the start of each step. Before the first one nothing is slow yet; traces count from there.
  void begin_step(std::int64_t step) { clock_.begin_step(step); }
  /// How many times as long an operation takes that starts at `when`: ≥ 1. Several faults multiply.
  double factor(FaultClock::Clock::time_point when = FaultClock::Clock::now()) const;

  /// The same device, as slow as that. All its operations but copies are: those belong to messages.
  /// On the CPU the calling thread sleeps after an operation for (factor − 1) times what that took;
  /// results keep their bits. Not for devices whose operations run after the call (asserted). This
  /// object must outlive the device.
  std::unique_ptr<kernels::Device> wrap(std::unique_ptr<kernels::Device> device) const;
  /// What occupies an emulated stream occupies it for longer.
  std::unique_ptr<kernels::EmulatedDevice> wrap(std::unique_ptr<kernels::EmulatedDevice> device) const;

 private:
  const std::vector<ComputeFault> faults_;
  FaultClock clock_;
};

}  // namespace tenax::resilience
