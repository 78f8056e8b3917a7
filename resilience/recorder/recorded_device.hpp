// RecordedDevice: another device, of whose passes the recorder hears, by the names of its ranges.
#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/emulated_device.hpp"
#include "kernels/kernels.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::resilience {

/// What the ranges of one thread say: passes are those named F, B or W and a number.
class RecordedRanges {
 public:
  explicit RecordedRanges(Recorder& recorder) : recorder_(recorder) {}
  void push(const char* name);
  void pop();

 private:
  Recorder& recorder_;
  const std::thread::id thread_ = std::this_thread::get_id();  // another one's are left out
  std::vector<std::optional<Recorder::Ticket>> open_;
};

/// `recorder` must outlive the device. The thread that calls is the one whose ranges count.
std::unique_ptr<kernels::Device> record_device(std::unique_ptr<kernels::Device> inner, Recorder& recorder);
std::unique_ptr<kernels::EmulatedDevice> record_device(std::unique_ptr<kernels::EmulatedDevice> inner,
                                                       Recorder& recorder);

}  // namespace tenax::resilience
