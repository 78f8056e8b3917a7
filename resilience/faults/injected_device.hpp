// InjectedDevice, InjectedEmulatedDevice: devices whose operations take as long as ComputeFaults say.
#pragma once

#include <memory>
#include <string>

#include "kernels/emulated_device.hpp"
#include "kernels/forwarding_device.hpp"
#include "resilience/faults/injected_kernels.hpp"

namespace tenax::resilience {

class InjectedDevice final : public kernels::ForwardingDevice<kernels::Device> {
 public:
  /// `faults` must outlive it.
  InjectedDevice(std::unique_ptr<kernels::Device> inner, const ComputeFaults& faults);
  kernels::Kernels& kernels() override { return kernels_; }

 private:
  InjectedKernels kernels_;
};

class InjectedEmulatedDevice final : public kernels::ForwardingDevice<kernels::EmulatedDevice> {
 public:
  /// `faults` must outlive it.
  InjectedEmulatedDevice(std::unique_ptr<kernels::EmulatedDevice> inner, const ComputeFaults& faults);
  kernels::Kernels& kernels() override { return kernels_; }
  void occupy(kernels::Stream& stream, double seconds) override;
  void host_blocked(kernels::Stream& stream) override { inner().host_blocked(stream); }

 private:
  const ComputeFaults& faults_;
  InjectedKernels kernels_;
};

}  // namespace tenax::resilience
