// SlowCases: the components that are or were slow, and what was done against each.
#pragma once

#include <map>
#include <vector>

#include "resilience/adaptation/flap_damper.hpp"
#include "resilience/diagnosis/inquiry.hpp"
#include "resilience/mitigation/iteration_forecast.hpp"
#include "resilience/mitigation/mitigation_record.hpp"
#include "resilience/mitigation/ski_rental.hpp"
#include "resilience/mitigation/strategy.hpp"

namespace tenax::resilience {

/// A component that is or was slow.
struct SlowCase {
  SlowPart part;
  SkiRental rental;
  FlapDamper damper;
  bool is_slow = true;
  int well = 0;                                     ///< iterations since it has healed
  std::map<Strategy, double> acted_on = {};         ///< until its way back: the loss that bought it
  std::map<Strategy, double> acted_on_before = {};  ///< each one's last action against it

  /// An action that so much loss has bought is in force; it is undone, and what the strategy did before stands again.
  void act(Strategy strategy, double lost_s);
  void undo(Strategy strategy);
  /// Its component is one of them, however slow.
  bool is_among(const std::vector<Component>& components) const;
};

/// Pure. A case stays when its component has healed: how often it flaps counts on.
class SlowCases {
 public:
  /// As Mitigation::Options has them.
  SlowCases(double min_gain, int heal_steps) : min_gain_(min_gain), heal_steps_(heal_steps) {}

  /// An iteration has ended. `is_masked`: what it took says nothing, and what it lost buys nothing.
  void add(double seconds, double healthy_s, bool is_masked = false);
  /// A part that is known and has become no slower is none, and neither is a moved link.
  bool is_news(const Component& component) const;
  /// `part` is slow, and so much was lost to it.
  void open(const SlowPart& part, const LostTime& lost);
  /// It is less slow, with the reports and the grid that this was found with. False: it is not known.
  bool ease(const Component& component, const std::vector<RankReport>& reports,
            const parallel::ProcessGrid& grid);
  /// It has healed. False: it is not known.
  bool close(const Component& component);
  /// An action is in force, or undone.
  void applied(const MitigationRecord& record);
  /// An action is not to be tried again against what it was to help against, before that has healed.
  void bar(const MitigationRecord& record);

  const std::vector<SlowCase>& all() const { return cases_; }
  std::vector<SlowPart> slow() const;
  bool is_any_slow() const;
  /// What was done against it is still needed.
  bool is_held(const SlowCase& one) const {
    return one.is_slow || one.damper.holds() || (!one.acted_on.empty() && one.well < heal_steps_);
  }

 private:
  const SlowCase* find(const Component& component) const;
  SlowCase* find(const Component& component);
  bool is_moved_link(const Component& component) const;

  double min_gain_;
  int heal_steps_;
  std::vector<SlowCase> cases_;
};

}  // namespace tenax::resilience
