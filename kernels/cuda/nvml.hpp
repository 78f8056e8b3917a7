// NvmlDevice: what NVIDIA's management library (NVML) tells of a GPU. It comes with the driver, not with the toolkit, nor does
// its header; so it is loaded when it is first asked, and the few functions that are called are declared in nvml.cpp. Only
// functions that read are called.
#pragma once

#include <optional>
#include <string>

#include "kernels/device_reading.hpp"
#include "kernels/shared_library.hpp"

namespace tenax::kernels::cuda {

/// The library of the machine's driver.
SharedLibrary nvml_library();

/// Nothing here throws: what is not there, or not supported, is absent. Thread rule: any thread.
class NvmlDevice {
 public:
  /// `library` is used here alone. `bus_id`: Device::bus_id().
  NvmlDevice(const SharedLibrary& library, const std::string& bus_id);

  /// Takes from some 20 µs to milliseconds. Empty where nothing is told.
  std::optional<DeviceReading> read() const;
  /// A sentence for people, why there are no readings; empty where there are.
  const std::string& note() const { return note_; }

 private:
  using Handle = void*;  // nvmlDevice_t
  using GetNumber = int (*)(Handle, unsigned kind, unsigned* number);
  using GetMask = int (*)(Handle, unsigned long long* mask);

  std::string open(const SharedLibrary& library, const std::string& bus_id);
  double number(GetNumber get, unsigned kind) const;
  unsigned long long reasons() const;

  Handle device_ = nullptr;
  GetNumber clock_ = nullptr, max_clock_ = nullptr, temperature_ = nullptr;
  GetMask reasons_ = nullptr;
  double max_clock_mhz_ = 0;
  std::string note_;
};

}  // namespace tenax::kernels::cuda
