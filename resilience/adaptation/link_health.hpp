// LinkHealth: finds the slow links of a pipeline, whose delay costs a share of an iteration.
#pragma once

#include <vector>

#include "resilience/adaptation/adaptation_decision.hpp"
#include "resilience/adaptation/situation.hpp"

namespace tenax::resilience {

/// Pure. A link becomes slow when, as it is run now, it costs the least gain worth an answer. It
/// heals when it would cost less than half of that directly under the initial schedule, as it will
/// be run then. It is a straggler when that which its delay exceeds the layout's own by (wire_s) costs as much: a link
/// that is only as slow as it is known to be may be answered, but nothing has happened to it.
class LinkHealth {
 public:
  explicit LinkHealth(int links) : links_(static_cast<std::size_t>(links)) {}

  /// `delegated`: per link, how it goes now.
  void assess(const Situation& situation, const std::vector<char>& delegated);

  bool is_slow(std::size_t link) const { return links_[link].slow; }
  bool is_straggler(std::size_t link) const { return links_[link].straggler; }
  bool any_is_slow() const;
  /// It is healthy: the next time that it is a straggler is reported.
  void forget_report(std::size_t link) { links_[link].reported_s = 0; }
  /// Adds an event like `now` for each straggler that was not reported since it was healthy, or has
  /// become much slower since.
  void report(const AdaptationEvent& now, const PipelineForecast& forecast,
              std::vector<AdaptationEvent>& events);

 private:
  struct Link {
    bool slow = false, straggler = false;
    double reported_s = 0;  // the delay of the last straggler event; 0 = none since it was healthy
  };

  /// What of its delay is `beyond_s`; `did`: it cost much when it was last assessed.
  bool costs_much(const Situation& situation, std::size_t link, std::vector<char> delegated, double beyond_s,
                  bool did) const;

  std::vector<Link> links_;
};

}  // namespace tenax::resilience
