// Mitigator: does what pays against what is slow, in a run (Greyhound, ATC 2025, section 5).
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/training/fail_slow_watch.hpp"
#include "app/training/grid_swap.hpp"
#include "app/training/step_batches.hpp"
#include "io/deck/deck.hpp"
#include "parallel/replica/replica.hpp"
#include "resilience/adaptation/pipeline_adaptation.hpp"
#include "resilience/mitigation/mitigation.hpp"

namespace tenax::app {

/// Rank 0 decides, and says in its vote that an action follows; at that step's end all ranks carry
/// it out. What strategies would bring is evaluated on another thread. One thread calls.
class Mitigator {
 public:
  /// What it needs, all of which outlives it.
  struct Parts {
    const io::Deck& deck;
    parallel::Replica& replica;
    StepBatches& batches;
    resilience::PipelineAdaptation* adaptation;  ///< null where there is none
    FailSlowWatch& watch;
    WriteEvent write;
    Console& console;
    /// TrainingLoop::regrid; empty where ranks keep their places.
    std::function<GridSwap::Outcome(const std::vector<int>& rank_of_position)> regrid;
    double started_s;  ///< when the process started, steady clock
    /// Seconds that the last checkpoint took; 0 where there is none.
    std::function<double()> checkpoint_s;
    /// Rank 0's: the run is to end, to be started again without these hosts.
    std::function<void(std::vector<std::string> hosts)> restart_without;
    bool is_enabled;    ///< false: nothing is ever done
    bool judges_times;  ///< false: nothing is said on the console
  };
  /// Collective. Throws kernels::Error(rank): exclude_hosts.txt of the run cannot be read.
  explicit Mitigator(const Parts& parts);

  /// Rank 0's: for the next vote. `must_wait`: ranks that change places would wait for a checkpoint. What is best is decided on
  /// anew then, after the step.
  bool acts(bool must_wait);
  /// Rank 0's: what has been found, is less slow, or has healed.
  void take(const resilience::InquiryEvent& event, const std::vector<resilience::RankReport>& reports);
  /// A step has ended.
  void finish(const io::TrainingMetrics& metrics);
  /// Collective, at the end of step `step`, whose vote said so.
  void act(std::int64_t step);
  /// Where the step that ends now was the first under another placement: what it is expected to be.
  std::optional<resilience::ExpectedLevel> take_change() { return std::exchange(change_, {}); }
  /// World ranks round each data ring whose order is not the group's own.
  std::vector<std::vector<int>> rings() const;
  /// The run ends: what is known of the last action is recorded.
  void close() { record(true); }

  /// Rank 0's: for the event of the end.
  double lost_s() const { return mitigation_ ? mitigation_->lost_s() : 0; }
  double seconds() const { return mitigation_ ? mitigation_->seconds() : 0; }

 private:
  struct Evaluation {
    std::vector<resilience::Proposal> proposals = {};
    double seconds = 0;
    std::string failure = {};  ///< why there are none
  };

  void begin();
  resilience::RunPicture picture() const;
  void evaluate();
  void receive(double patience_s);
  void estimate_costs(double evaluation_s);
  double restart_s() const;
  double swap_s() const;
  void restart(std::int64_t step);
  GridSwap::Outcome apply(const resilience::RunPlacement& placement);
  void share(const std::vector<int>& microbatches);
  /// Returns why they stay as they are; empty: they do not.
  std::string order_rings(const resilience::RunPlacement& placement);
  void record(bool all);

  Parts parts_;
  resilience::Possibilities possibilities_;
  resilience::RunPlacement placement_;                // now
  std::optional<resilience::Mitigation> mitigation_;  // rank 0's
  std::vector<resilience::RankReport> reports_;       // rank 0's: of the last finding
  std::vector<int> reported_places_;                  // RunPlacement::group_of_place of then
  std::future<Evaluation> evaluation_;                // likewise
  double start_s_ = 0;                                // likewise: from the start to the first step's end
  bool is_outdated_ = false;                          // evaluation_ is of what was
  bool is_new_ = false;                               // it has not been waited for
  std::optional<resilience::Action> decided_;         // likewise
  std::optional<parallel::ProcessGrid> grid_before_;  // likewise: where ranks were when it was decided
  std::optional<resilience::ExpectedLevel> change_;
};

}  // namespace tenax::app
