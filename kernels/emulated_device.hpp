// The emulated device: every operation occupies its in-order stream for a configured time and
// touches no data, so that schedules, transfers and faults of a large machine run faithfully on
// a few cores.
//
// Time. The host is taken to launch ahead, as it does on a GPU: an operation starts when its
// stream's previous one has ended and its inputs have arrived (Stream::input_arrived, Stream::wait,
// or the host having been blocked: host_blocked), not when the sleeping thread happened to wake. So
// lateness in waking never adds up. Events carry these logical times. The price: whoever holds the
// launching thread up (a vote, a full queue, a decision that took its time) must say so, else what
// follows starts in the past.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/device.hpp"

namespace tenax::kernels {

struct EmulatedOptions {
  double copy_s = 0;          ///< Kernels::copy between host and device, each
  double probe_s = 0;         ///< Kernels::matmul, with which a device's speed is tested
  double jitter_percent = 0;  ///< 0 to 100: occupy() is scaled by 1 + jitter · u/100, u uniform in [-1, 1]
  std::uint64_t seed = 1;     ///< for the jitter; give each rank its own
  std::size_t memory_bytes = std::size_t{1} << 50;  ///< what the device holds
};

class EmulatedDevice : public Device {
 public:
  /// Occupies `stream` for `seconds` (jittered) and sleeps until then: on return the
  /// operation has run.
  virtual void occupy(Stream& stream, double seconds) = 0;
  /// The thread that launches on `stream` was held up until now (a full queue, a vote): nothing
  /// starts earlier.
  virtual void host_blocked(Stream& stream) = 0;
};

/// Operations of kernels() other than copy and matmul take no time. A matmul takes probe_s (jittered)
/// from now on at the earliest, and the caller sleeps until it has run. A copy between host and device is
/// asynchronous: it occupies its stream for copy_s; the caller does not sleep. It starts after the
/// inputs that the stream was told of since its last operation, and where it was told of none, now
/// at the earliest (a thread launched it in answer to something). Device buffers have their size
/// but no memory behind them: data() is null; pinned host buffers are real.
std::unique_ptr<EmulatedDevice> create_emulated_device(const EmulatedOptions& options);

}  // namespace tenax::kernels
