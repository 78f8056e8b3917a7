// Saving one checkpoint by all ranks together: one HDF5 file, complete or absent.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "comm/control_group.hpp"
#include "io/checkpoint/checkpoint_info.hpp"

namespace tenax::resilience {

struct SaveRequest {
  std::filesystem::path directory;  ///< shared by all ranks; made if absent
  std::int64_t keep = 0;            ///< checkpoints to keep, 0 = all
  std::int64_t step = 0;            ///< steps done
  io::ModelSizes model;
  std::string deck;                              ///< resolved, TOML
  io::CheckpointOrigin origin = {};              ///< rank 0's counts
  std::optional<std::int64_t> next_sample = {};  ///< the first that no step has had; none: unknown
  std::string writer = {};                       ///< as CheckpointOptions has it
  /// So long it waits for the room that old checkpoints made: many file systems give it back late. The wait gets on.
  double room_wait_s = 15;
  /// Once it is true on some rank, the save soon fails on all where it is not through; null: never.
  const std::atomic<bool>* abandoned = nullptr;
  /// This rank's alone: why it cannot take part. The save fails on all then, before anything is read or written.
  std::string refusal = {};
};

struct SaveReport {
  std::int64_t step = 0;
  std::filesystem::path file;
  double seconds = 0;
  double end_s = 0;  ///< on this rank, steady clock
  std::int64_t bytes = 0;
  std::string failure;  ///< empty if the file is there; else why not, as a sentence
  bool saved() const { return failure.empty(); }
};

/// Collective; the same request on every rank, but for refusals. A failure on any rank is reported on all, and
/// nothing is left behind; only errors of the group itself are thrown. Memory of the primary ranges
/// must not change meanwhile. Calls `on_progress` on every rank whenever all have got on: a large
/// checkpoint takes long, one that hangs gets nowhere.
SaveReport save_checkpoint(
    comm::ControlGroup& group, const SaveRequest& request, std::span<const io::StateRange> ranges,
    const std::function<void()>& on_progress = [] {});

}  // namespace tenax::resilience
