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
  /// is found here. `takes_over`: it has vanished, and replicas on other hosts may live too.
  EarlierRun(const io::Deck& deck, bool takes_over);

  const std::vector<LaunchFile::Replica>& living() const { return living_; }
  bool is_alive() const { return !living_.empty(); }
  /// With what the living were started. Throws kernels::Error(job) where that is another program, or a deck
  /// other than this run's: they could not go on with this supervisor. Nothing is touched yet.
  JoinFile join(const Build& build) const;
  /// The resolved deck, as the living read it.
  static std::string deck_text(const JoinFile& join);

 private:
  const io::Deck& deck_;
  std::vector<LaunchFile::Replica> living_;
};

}  // namespace tenax::app
