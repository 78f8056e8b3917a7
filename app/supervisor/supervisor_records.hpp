// SupervisorRecords: what a supervisor writes and prints of its run.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/console.hpp"
#include "io/deck/deck.hpp"
#include "io/run/run_files.hpp"
#include "resilience/membership/service_output.hpp"

namespace tenax::app {

/// The service's thread hands in, the supervisor's writes. Errors are kernels::Error(rank).
class SupervisorRecords {
 public:
  using News = std::variant<resilience::Record, resilience::ServiceEvent>;

  /// `steps_done`: before the first record. Both must outlive it.
  SupervisorRecords(const io::Deck& deck, Console& console, std::int64_t steps_done);

  /// Incarnations up to this one ended with an earlier start of the run: no loss of this one's.
  void ignore_up_to(resilience::ReplicaId id) { earlier_.push_back(id); }
  /// Any thread.
  void hand_in(News news);
  /// Writes what was handed in, and returns it.
  std::vector<News> write();
  void event(const std::string& name, std::optional<int> replica, const io::JsonObject& details);
  std::int64_t steps_done() const { return steps_done_; }

 private:
  void take(const resilience::CommitRecord& commit);
  void take(const resilience::EpochRecord& epoch);
  void take(const resilience::VoidRecord& gone);
  void take(const resilience::ReplicaLost& lost);
  void take(const resilience::EpochBegan& began);
  void take(const resilience::StepsVoided& voided);
  void take(const resilience::CheckpointSaved& saved);
  void take(const resilience::MembersAwaited& awaited);

  const io::Deck& deck_;
  Console& console_;
  std::unique_ptr<io::MetricsWriter> metrics_;
  io::EventsWriter events_;
  std::int64_t steps_done_;
  std::vector<resilience::ReplicaId> earlier_;
  double last_commit_s_ = 0;  // UNIX; 0: none since the last change
  std::mutex mutex_;          // of what follows
  std::vector<News> news_;
};

}  // namespace tenax::app
