#include "resilience/faults/injected_device.hpp"

#include <atomic>

#include "kernels/deadline.hpp"

namespace tenax::resilience {
namespace {

using kernels::steady_now_s;

/// Sleeps as long as it was asked to in all: what one sleep was too long, because the system woke the
/// thread late, is taken off the next, and short ones are put together.
class OwedSleep {
 public:
  void add(double seconds) {
    constexpr double kShortest_s = 1e-4;
    const double owed_s = owed_s_.exchange(0) + seconds;
    const double begin_s = steady_now_s();
    if (owed_s >= kShortest_s) kernels::sleep_until_s(begin_s + owed_s);
    owed_s_ += owed_s >= kShortest_s ? begin_s + owed_s - steady_now_s() : owed_s;
  }

 private:
  std::atomic<double> owed_s_ = 0;
};

InjectedKernels::Prolong sleep_longer() {
  return [owed = std::make_shared<OwedSleep>()](kernels::Stream&, double seconds) { owed->add(seconds); };
}

}  // namespace

InjectedDevice::InjectedDevice(std::unique_ptr<kernels::Device> inner, const ComputeFaults& faults)
    : ForwardingDevice(std::move(inner)), kernels_(this->inner(), faults, sleep_longer()) {}

InjectedEmulatedDevice::InjectedEmulatedDevice(std::unique_ptr<kernels::EmulatedDevice> inner,
                                               const ComputeFaults& faults)
    : ForwardingDevice(std::move(inner)),
      faults_(faults),
      kernels_(this->inner(), faults, [this](kernels::Stream& stream, double seconds) {
        if (seconds > 0) this->inner().occupy(stream, seconds);
      }) {}

void InjectedEmulatedDevice::occupy(kernels::Stream& stream, double seconds) {
  inner().occupy(stream, seconds * faults_.factor());
}

}  // namespace tenax::resilience
