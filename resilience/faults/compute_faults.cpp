#include "resilience/faults/compute_faults.hpp"

#include <cassert>

#include "resilience/faults/injected_device.hpp"

namespace tenax::resilience {

double ComputeFaults::factor(FaultClock::Clock::time_point when) const {
  double product = 1;
  for (const ComputeFault& fault : faults_) {
    if (!clock_.is_within(fault.window, when)) continue;
    product *= fault.trace ? fault.trace->value_at(clock_.run_s(when)) : fault.factor;
  }
  return product;
}

std::unique_ptr<kernels::Device> ComputeFaults::wrap(std::unique_ptr<kernels::Device> device) const {
  assert(!device->is_asynchronous() && "how long an operation takes is seen when its call returns");
  return std::make_unique<InjectedDevice>(std::move(device), *this);
}

std::unique_ptr<kernels::EmulatedDevice> ComputeFaults::wrap(
    std::unique_ptr<kernels::EmulatedDevice> device) const {
  return std::make_unique<InjectedEmulatedDevice>(std::move(device), *this);
}

}  // namespace tenax::resilience
