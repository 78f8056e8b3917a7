// LoopRecords: what a training loop says of its steps: records of the run, lines on the console, the other replicas' service.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/training/divergence.hpp"
#include "app/training/run_records.hpp"
#include "app/training/step_lines.hpp"
#include "parallel/replica/replica.hpp"
#include "resilience/adaptation/adaptation_decision.hpp"
#include "resilience/replicas/replica_session.hpp"

namespace tenax::app {

/// Thread rule: the thread that trains.
class LoopRecords {
 public:
  struct Options {
    const io::Deck& deck;
    parallel::Replica& replica;
    resilience::ReplicaSession* peers = nullptr;   ///< null where there are no other replicas
    io::RunLock* lock = nullptr;                   ///< rank 0's, null elsewhere
    std::filesystem::path records_directory = {};  ///< with peers: where this replica writes
    Console& console;
    double machine_flop_per_second = 0;
    bool judges_times = true;  ///< false: who is slow is not said to the user
  };
  /// Collective. `first_step`: steps done before. References must outlive it.
  LoopRecords(Options options, std::int64_t first_step);

  RunRecords& run() { return run_; }

  /// A step. `finite`: its loss and gradient are.
  void training(const io::TrainingMetrics& metrics, bool finite);
  /// Throws comm::AgreedError(job) where too many steps in a row were not finite. With peers the supervisor ends the run.
  void refuse_divergence() const;
  /// Of a replica: for the run's events, too.
  void observed(std::int64_t step, const std::string& name, const io::JsonObject& details);
  /// `loss`: mean of a token's, nats. `seconds`: that it took.
  void validation(std::int64_t steps_done, double loss, double seconds);
  void adaptations(const std::vector<resilience::AdaptationEvent>& events);
  /// Of all steps, the seconds of their iterations.
  double iterations_s() const { return iterations_s_; }

 private:
  Options options_;
  RunRecords run_;
  StepLines step_lines_;
  Divergence divergence_;
  double iterations_s_ = 0;
};

}  // namespace tenax::app
