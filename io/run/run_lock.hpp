// RunLock: one run at a time writes to a run directory and to its checkpoints.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/run/directory_lock.hpp"

namespace tenax::io {

struct Deck;

/// Held by rank 0 from before the first write to the end. Used by one thread.
class RunLock {
 public:
  /// What replicas of the run, which hold their own directories, may do meanwhile.
  enum class Replicas { must_be_gone, may_live };
  /// Locks run.output_dir. Also locks checkpoint.dir if the deck writes checkpoints or some lie
  /// there. Throws kernels::Error(rank) if another process holds one of them, or if a replica of
  /// the run lives that must be gone.
  explicit RunLock(const Deck& deck, Replicas replicas = Replicas::must_be_gone);
  /// Where locks may be that the constructor looks at, those of replicas included.
  static std::vector<std::filesystem::path> directories(const Deck& deck);

  /// With run.resume = "never" and a run in run.output_dir: moves that run to the first free one of
  /// <dir>.1, .2, …, locks the new run.output_dir, and returns the moved run's path. Throws
  /// kernels::Error(rank).
  std::optional<std::filesystem::path> move_old_run(const Deck& deck);

  /// False once one of the directories has been removed or moved.
  bool in_place() const;
  /// False once run.output_dir has been.
  bool is_run_in_place() const { return run_.in_place(); }
  /// Makes and locks again the directories that are gone. Throws kernels::Error(rank) for run.output_dir. Where
  /// checkpoint.dir cannot be made, the run goes on without it, until a directory is there again; returns why.
  std::optional<std::string> renew();

 private:
  DirectoryLock run_;
  std::optional<DirectoryLock> checkpoints_;
  std::filesystem::path checkpoint_directory_;
  bool lacks_checkpoints_ = false;  // they could not be made again, and nothing is there now
};

}  // namespace tenax::io
