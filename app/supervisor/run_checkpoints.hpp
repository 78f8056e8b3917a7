// RunCheckpoints: the checkpoints of a run with replicas, which the supervisor gives their place.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/supervisor/supervisor_records.hpp"
#include "io/deck/deck.hpp"
#include "resilience/membership/service_output.hpp"

namespace tenax::app {

/// A replica leaves a complete checkpoint under a name of its own: it may have been taken for dead
/// meanwhile. What the service accepts becomes the run's.
class RunCheckpoints {
 public:
  /// All outlive it.
  RunCheckpoints(const io::Deck& deck, SupervisorRecords& records, Console& console)
      : deck_(deck), records_(records), console_(console) {}

  /// Once or more often for the same checkpoint. Throws kernels::Error(job) where the last of the
  /// run could not be written.
  void take(const resilience::CheckpointSaved& checkpoint);
  /// Sets those aside that hold steps which are void, what lost replicas have left too: trained again, these have another result.
  void take(const resilience::StepsVoided& voided) const;
  /// Sets those aside that may hold a wrong state.
  void take(const resilience::StateCorrupt& corrupt) const;
  /// Gives the newest that the lost one has completed its place, if its steps count and its state may be right: nobody
  /// may have been told of it yet. Removes what else it has begun or completed, but for what has more steps than are recorded:
  /// nobody may be left who can tell of those.
  void take(const resilience::ReplicaLost& lost);
  /// The same for all writers: the run has ended. What cannot be given its place now stays for the next start.
  void leave() const;

 private:
  bool place_left(const std::optional<std::string>& writer = {}) const;
  using SetAside = std::function<std::vector<std::filesystem::path>(const std::filesystem::path& directory)>;
  void set_aside(const char* what, const SetAside& move) const;
  void refuse(const resilience::CheckpointSaved& checkpoint, const std::string& failure);

  const io::Deck& deck_;
  SupervisorRecords& records_;
  Console& console_;
  std::set<std::string> lost_;         // writers
  std::vector<std::string> doubtful_;  // those of them whose state may be wrong
};

}  // namespace tenax::app
