#include <unistd.h>

#include <utility>

#include "kernels/forwarding_device.hpp"
#include "kernels/kernels.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"
#include "resilience/faults/hang_faults.hpp"

namespace tenax::resilience {
namespace {

template <class Interface>
class HangingDevice : public kernels::ForwardingDevice<Interface> {
 public:
  HangingDevice(std::unique_ptr<Interface> inner, HangFaults& faults)
      : kernels::ForwardingDevice<Interface>(std::move(inner)), faults_(faults) {}
  kernels::Kernels& kernels() override { return this->inner().kernels(); }
  void push_range(const char* name) override {
    this->inner().push_range(name);
    if (!parallel::op_of_text(name) || !faults_.strikes(HangFault::Where::pass)) return;
    for (;;) pause();  // until somebody ends the process
  }

 private:
  HangFaults& faults_;
};

class HangingEmulatedDevice final : public HangingDevice<kernels::EmulatedDevice> {
 public:
  using HangingDevice::HangingDevice;
  void occupy(kernels::Stream& stream, double seconds) override { inner().occupy(stream, seconds); }
  void host_blocked(kernels::Stream& stream) override { inner().host_blocked(stream); }
};

}  // namespace

std::unique_ptr<kernels::Device> HangFaults::wrap(std::unique_ptr<kernels::Device> device) {
  return std::make_unique<HangingDevice<kernels::Device>>(std::move(device), *this);
}

std::unique_ptr<kernels::EmulatedDevice> HangFaults::wrap(std::unique_ptr<kernels::EmulatedDevice> device) {
  return std::make_unique<HangingEmulatedDevice>(std::move(device), *this);
}

}  // namespace tenax::resilience
