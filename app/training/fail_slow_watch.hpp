// FailSlowWatch: finds what makes a run's iterations slow, in the run itself (Greyhound, ATC 2025,
// section 4), and records it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "app/console.hpp"
#include "app/training/fail_slow_text.hpp"
#include "app/training/iteration_watch.hpp"
#include "app/training/step_observation.hpp"
#include "app/training/step_vote.hpp"
#include "app/training/unused_links.hpp"
#include "io/deck/deck.hpp"
#include "parallel/replica/replica.hpp"
#include "resilience/adaptation/pipeline_adaptation.hpp"
#include "resilience/diagnosis/figure_history.hpp"
#include "resilience/diagnosis/inquiry.hpp"
#include "resilience/diagnosis/preemption.hpp"
#include "resilience/diagnosis/step_figures.hpp"
#include "resilience/diagnosis/validation.hpp"

namespace tenax::app {

/// Every rank remembers its figures; rank 0 follows the iteration time, asks for the others' figures
/// with its vote when iterations have become slower, and decides what is slow. One thread.
class FailSlowWatch {
 public:
  /// What it needs, all of which outlives it.
  struct Parts {
    const io::Deck& deck;
    parallel::Replica& replica;
    const parallel::PipelineContext& context;  ///< of `replica`
    kernels::Device& device;
    StepObservation& observation;    ///< of this rank's steps, and what its device tells meanwhile
    resilience::DeviceProbe* probe;  ///< of `device`; null where nothing is looked for
    WriteEvent write;
    Console& console;
    RankPlace place;    ///< this rank's
    bool judges_times;  ///< false: nothing is said on the console
    /// Rank 0's: is told of what has been found, is less slow, or has healed, with the reports of all ranks.
    std::function<void(const resilience::InquiryEvent& event,
                       const std::vector<resilience::RankReport>& reports)>
        told;
  };
  /// Collective.
  explicit FailSlowWatch(const Parts& parts);

  /// Is to be told of passes and collectives; null where nothing is looked for.
  parallel::StepObserver* observer() { return is_enabled() ? &figures_ : nullptr; }
  /// The pipeline's messages are to be measured in step `step`.
  bool wants_delays(std::int64_t step) const;
  /// Steps that a device would run as one graph are to be launched op by op.
  bool wants_passes() const { return steps_asked_ > 0 && steps_asked_ <= kObservedSteps; }

  /// For the vote: rank 0's.
  resilience::InquiryOrder order() const { return inquiry_ ? inquiry_->order() : resilience::InquiryOrder{}; }
  /// Collective, after a vote that counts, of step `step`. Where the one before asked for reports, all
  /// ranks exchange them.
  void agree(std::int64_t step, const StepVote& vote);

  struct Step {
    double begin_s = 0;
    /// It ran under another schedule, path or placement than the one before.
    std::optional<resilience::ExpectedLevel> own_action = {};
    double load = 1;  ///< > 0: what this rank's pipeline computed, relative to an even share
    resilience::PipelineAdaptation::Delays delays = {};  ///< as they were measured last
  };
  /// The step has ended.
  void finish(const io::TrainingMetrics& metrics, const Step& step);
  /// Collective, after finish(): if the vote asked for it, all ranks hold and test.
  void validate(std::int64_t step);

  /// Rank 0's: what makes iterations slow is being looked for.
  bool is_inquiring() const { return inquiry_ && inquiry_->is_under_way(); }
  /// Rank 0's: as Inquiry::look_again().
  void look_again(std::int64_t since) {
    if (inquiry_) inquiry_->look_again(since);
  }

  /// Rank 0's: how components read. Null elsewhere, and where nothing is looked for.
  const FailSlowText* text() const { return text_ ? &*text_ : nullptr; }

  /// Collective, between steps: ranks have changed places, and this one had stage `old_stage`.
  void follow_swap(int old_stage);

  /// World ranks round each data ring that is joined in another order than at first, from now on.
  void follow_rings(std::vector<std::vector<int>> rings) { unused_links_.set_rings(std::move(rings)); }

  /// Its own time of all steps: this rank's, validations apart.
  double seconds() const { return is_enabled() ? seconds_ : 0; }

 private:
  static constexpr int kObservedSteps = 8;

  bool is_enabled() const { return parts_.probe != nullptr; }
  double preempted_s();
  resilience::ValidationParts validation_parts();
  resilience::ValidationRequest validation_request(const resilience::Suspects& suspects) const;
  void probe(std::int64_t step);
  void remember(const io::TrainingMetrics& metrics, const Step& step);
  void record(std::int64_t step);
  template <class Event>
  void record(std::int64_t step, const char* name, const Event& event);

  Parts parts_;
  resilience::Preemption preemption_{kernels::steady_now_s()};
  resilience::StepFigures figures_;
  resilience::FigureHistory history_;
  UnusedLinks unused_links_;
  IterationWatch iterations_;                   // rank 0's
  std::optional<resilience::Inquiry> inquiry_;  // likewise
  std::optional<FailSlowText> text_;            // likewise
  resilience::InquiryOrder order_;              // that the last vote agreed on
  int steps_asked_ = 0;                         // votes in a row that asked for reports
  double seconds_ = 0;
};

}  // namespace tenax::app
