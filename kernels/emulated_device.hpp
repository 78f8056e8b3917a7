// The emulated device: every operation occupies its in-order stream for a configured time and touches no data, so that
// schedules, transfers and faults of a large machine run faithfully on a few cores.
//
// Time. The host is taken to launch ahead, as it does on a GPU: an operation starts when its stream's previous one has
// ended and its inputs have arrived (Stream::input_arrived, or the host having been blocked: host_blocked), not when the
// sleeping thread happened to wake. So lateness in waking never adds up.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/device.hpp"

namespace tenax::kernels {

struct EmulatedOptions {
  double copy_s = 0;          ///< Kernels::copy between host and device, each
  double jitter_percent = 0;  ///< each occupation is scaled by 1 + jitter · u/100, u uniform in [-1, 1]
  std::uint64_t seed = 1;     ///< of the jitter; give each rank its own
};

class EmulatedDevice : public Device {
 public:
  /// Occupies `stream` for `seconds` (jittered) and sleeps until then: on return the operation has run.
  virtual void occupy(Stream& stream, double seconds) = 0;
  /// The thread that launches on `stream` was held up until now (a full queue, a vote): nothing starts earlier.
  virtual void host_blocked(Stream& stream) = 0;
};

/// Operations of kernels() other than copy take no time. Buffers have their size but no memory behind them: data() is
/// null; pinned host buffers are real.
std::unique_ptr<EmulatedDevice> create_emulated_device(const EmulatedOptions& options);

}  // namespace tenax::kernels
