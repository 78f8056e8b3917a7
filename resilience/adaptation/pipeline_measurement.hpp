// PipelineMeasurement: how long the passes and messages of a pipeline took in one iteration.
// Planner and detector see nothing else. One rank measures a StageMeasurement; all ranks of the
// pipeline make the same PipelineMeasurement of them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tenax::resilience {

/// One direction of one link.
struct LinkMeasurement {
  double delay_s = 0;  ///< robust estimate: transmission start to arrival
  double late_s = 0;  ///< the delay may be less by this much: receivers that share cores notice arrivals late
  double spread_s = 0;  ///< how much messages differ, as a standard deviation (from quartiles)
  /// Least time from ready to transmission start: what the path itself adds (host copies).
  double overhead_s = 0;
  double error_s = 0;    ///< clock alignment's bound
  int samples = 0;       ///< that the estimate rests on; 0: nothing was measured
  bool at_most = false;  ///< no arrival was noticed promptly: the delay is delay_s or less

  double at_least_s() const { return at_most ? 0 : delay_s - late_s; }
  bool operator==(const LinkMeasurement&) const = default;
};

/// The passes of one stage: medians over microbatches.
struct PassMeasurement {
  double forward_s = 0, backward_input_s = 0, backward_weight_s = 0;
  /// Between the fastest and the slowest pass of a kind: for so long the machine holds a rank up,
  /// and what it has to send.
  double stall_s = 0;

  bool operator==(const PassMeasurement&) const = default;
};

/// What one rank measured. Plain data: it travels as its bytes.
struct StageMeasurement {
  int stage = 0;
  int lane = 0;  ///< tensor rank: each has its own chain of links
  PassMeasurement passes = {};
  LinkMeasurement activations = {};          ///< that arrived from the stage before
  LinkMeasurement gradients = {};            ///< that arrived from the stage after
  double first_start_s = 0, last_end_s = 0;  ///< own clock; equal when nothing ran
  double upstream_offset_s = 0;              ///< clock of the stage before minus own

  bool operator==(const StageMeasurement&) const = default;
};

std::string to_bytes(const StageMeasurement& stage);
/// Throws Error(replica) when `bytes` are not a StageMeasurement.
StageMeasurement stage_of_bytes(const std::string& bytes);

struct PipelineMeasurement {
  std::vector<StageMeasurement> stages;  ///< combine()'s passes and links; no clocks
  double iteration_s = 0;                ///< first op's start to last op's end over all stages

  /// The activations and the gradients of the link between stages `link` and `link` + 1.
  const LinkMeasurement& down(std::size_t link) const { return stages[link + 1].activations; }
  const LinkMeasurement& up(std::size_t link) const { return stages[link].gradients; }
  bool operator==(const PipelineMeasurement&) const = default;
};

/// Pure: equal measurements in equal order give equal bits. The slowest lane decides a link's delay, since the other tensor
/// ranks wait for it. They do so in their passes, so the shortest of a stage's passes are its times. Asserts that every stage
/// 0 … S − 1 is there in every lane.
PipelineMeasurement combine(std::span<const StageMeasurement> of_ranks);

}  // namespace tenax::resilience
