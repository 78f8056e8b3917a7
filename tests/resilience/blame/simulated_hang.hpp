// Hangs of jobs that are simulated: ranks go through the steps of a run until one does something wrong and nobody can go
// on, and what their recorders hold then.
#pragma once

#include <cstdint>
#include <optional>

#include "resilience/blame/hang_dump.hpp"

namespace tenax::resilience {

struct JobShape {
  int tensor = 1, data = 1, pipeline = 1, replicas = 1;
  int microbatches = 4, layers = 1;
  bool polls = true;  ///< receives are looked at, instead of stood in
  int ranks_of_replica() const { return tensor * data * pipeline; }
  int ranks() const { return replicas * ranks_of_replica(); }
};

enum class HangKind { stuck_pass, stuck_host, skipped_collective, half_open, stopped };
inline constexpr int kHangKinds = 5;

/// What one rank does at the first instruction that fits, from the `at`-th of step `step` on.
struct SimulatedHang {
  HangKind kind = HangKind::stuck_pass;
  int rank = 0;  ///< counted over all replicas
  std::int64_t step = 3;
  int at = 0;
  bool has_slow_rank = false;  ///< another one is in the midst of a pass, and moves
};

/// Nothing where the hang does not come about: nothing fits.
std::optional<HangDump> simulate_hang(const JobShape& shape, const SimulatedHang& hang, std::uint32_t seed);

}  // namespace tenax::resilience
