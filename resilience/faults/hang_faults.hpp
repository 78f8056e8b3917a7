// HangFaults: makes a rank hang while its heart beats: in a pass, by a collective that it leaves out, by a connection that
// loses what it sends.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "comm/connection.hpp"
#include "comm/world.hpp"
#include "kernels/emulated_device.hpp"
#include "resilience/faults/fault_occasion.hpp"
#include "resilience/replicas/step_points.hpp"

namespace tenax::resilience {

struct HangFault {
  enum class Where { pass, collective, connection };
  FaultOccasion occasion;
  Where where = Where::pass;
};

/// Of one rank. What it wraps behaves as before until a fault comes, after the step's begin: then the next pass does not
/// end, the next collective of a tensor or data group is not taken part in, or the next connection to send a message
/// sends none any more. Must outlive what it has wrapped. Thread rule: any thread.
class HangFaults final : public StepPoints {
 public:
  explicit HangFaults(std::vector<HangFault> faults) : faults_(std::move(faults)) {}

  /// Who else hears of the points; must outlive this.
  void pass_on_to(StepPoints& next) { next_ = &next; }
  void reach(StepPoint point, std::int64_t step) override;

  std::unique_ptr<kernels::Device> wrap(std::unique_ptr<kernels::Device> device);
  std::unique_ptr<kernels::EmulatedDevice> wrap(std::unique_ptr<kernels::EmulatedDevice> device);
  std::unique_ptr<comm::Transport> wrap(std::unique_ptr<comm::Transport> transport);
  /// `options`: those of `world`, which must outlive the result.
  std::unique_ptr<comm::World> wrap(comm::World& world, comm::CommOptions options);

  /// Whether it strikes now: once in a process.
  bool strikes(HangFault::Where where);

 private:
  const std::vector<HangFault> faults_;
  StepPoints* next_ = nullptr;
  FaultClock clock_;
  std::atomic<bool> has_struck_{false};
};

}  // namespace tenax::resilience
