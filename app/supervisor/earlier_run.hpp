// EarlierRun: what an earlier supervisor of a run has left: replicas that live, and what they read.
#pragma once

#include <string>
#include <vector>

#include "app/build.hpp"
#include "app/launch/launch_files.hpp"
#include "io/deck/deck.hpp"

namespace tenax::app {

/// Used by one thread.
class EarlierRun {
 public:
  /// Looks at the run's directory. A supervisor that lives holds the run's lock: then nothing comes of what
  /// is found here. `takes_over`: it has vanished, and replicas on other hosts may live too. Waits at most 10 s for the
  /// mpirun of replicas whose ranks have gone.
  EarlierRun(const io::Deck& deck, bool takes_over);

  const std::vector<LaunchFile::Replica>& living() const { return living_; }
  bool is_alive() const { return !living_.empty(); }
  /// With what the living were started. Throws kernels::Error(job) where that is another program, or a deck
  /// other than this run's: they could not go on with this supervisor. Nothing is touched yet.
  JoinFile join(const Build& build) const;
  /// The resolved deck, as the living read it.
  static std::string deck_text(const JoinFile& join);

  /// Where nothing of it lives: frees the memory of this host that its starts hold.
  void remove_scratch() const;

 private:
  void find_living(const LaunchFile& file, bool takes_over);

  const io::Deck& deck_;
  std::vector<LaunchFile::Replica> living_;
  std::vector<std::filesystem::path> scratch_;  // of all its starts
};

}  // namespace tenax::app
