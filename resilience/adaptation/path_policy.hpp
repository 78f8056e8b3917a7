// PathPolicy: which links of a pipeline go over delegates, and over how many.
#pragma once

#include <vector>

#include "resilience/adaptation/adaptation_settings.hpp"
#include "resilience/adaptation/flap_damper.hpp"
#include "resilience/adaptation/link_health.hpp"

namespace tenax::resilience {

/// Pure. Where paths are not chosen automatically all links go one way.
class PathPolicy {
 public:
  PathPolicy(int links, int microbatches, const AdaptationSettings& settings);

  /// An iteration has so many from now on.
  void set_microbatches(int microbatches) { microbatches_ = microbatches; }

  /// How the links were run in the last iteration. A direct path that broke is left: a fact, not a
  /// choice.
  void observe(const std::vector<LinkCondition>& conditions);
  /// Chooses for the next iteration.
  void choose(const Situation& situation, const LinkHealth& health);
  /// At the end of an iteration's observation: counts for links that flap.
  void damp(const LinkHealth& health);

  const std::vector<LinkPath>& chosen() const { return chosen_; }
  std::vector<char> delegated() const;
  /// In the last iteration.
  bool was_delegated(std::size_t link) const { return links_[link].condition.delegated; }
  bool just_broke(std::size_t link) const { return links_[link].condition.just_broke(); }
  bool any_just_broke() const;
  /// On delegates without a reason, and not yet for long enough.
  bool holds(std::size_t link) const { return links_[link].damper.holds(); }
  bool any_is_held() const;
  /// A healthy link is on delegates because its direct path had broken, and may go back.
  bool may_return(std::size_t link, const LinkHealth& health) const;

  /// The measurement with the delays that the direct paths would have. A delegated message is timed
  /// from the end of the copy out to the end of the copy in, so its delay includes the copy in.
  /// That part moves from delay_s to overhead_s.
  PipelineMeasurement without_copies(PipelineMeasurement measurement) const;
  /// `costs`, with what the chosen paths add.
  parallel::PipelineCosts with_overheads(parallel::PipelineCosts costs,
                                         const PipelineForecast& forecast) const;

  /// Adds an event like `now` for each link that changes its path.
  void report(const AdaptationEvent& now, const PipelineForecast& forecast,
              std::vector<AdaptationEvent>& events);

 private:
  struct Link {
    LinkCondition condition;
    LinkPath told;  // in the last decision, as it is run
    FlapDamper damper;
  };

  bool is_automatic() const { return settings_.paths == PathChoice::automatic; }
  bool should_delegate(std::size_t link, const Situation& situation, const LinkHealth& health) const;
  int delegates_for(std::size_t link, const parallel::PipelineCosts& costs) const;

  AdaptationSettings settings_;
  int microbatches_;
  std::vector<Link> links_;
  std::vector<LinkPath> chosen_;
};

}  // namespace tenax::resilience
