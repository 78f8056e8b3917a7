// FailSlowText: how slow components read: on the console and in events.jsonl.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/json.hpp"
#include "parallel/layout/process_grid.hpp"
#include "resilience/diagnosis/inquiry.hpp"

namespace tenax::app {

/// Where a rank runs.
struct RankPlace {
  std::string host, device;
};

class FailSlowText {
 public:
  /// `places`: by world rank. `grid` must outlive it.
  FailSlowText(const parallel::ProcessGrid& grid, std::vector<RankPlace> places)
      : grid_(grid), places_(std::move(places)) {}

  /// The details of the events (contract/failslow.md).
  io::JsonObject details(const resilience::FailSlow& found) const;
  io::JsonObject details(const resilience::Healed& healed) const;
  /// A sentence for a person.
  std::string line(std::int64_t step, const resilience::FailSlow& found) const;
  std::string line(std::int64_t step, const resilience::Healed& healed) const;

  io::JsonObject details(const resilience::Component& component) const { return details(component, grid_); }
  /// In another grid than now.
  io::JsonObject details(const resilience::Component& component, const parallel::ProcessGrid& grid) const;
  /// Of each rank.
  std::vector<std::string> hosts() const;
  /// "rank 3 (node7)", "the data link between …".
  std::string name_of(const resilience::Component& component) const;

 private:
  const RankPlace& place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }

  const parallel::ProcessGrid& grid_;
  std::vector<RankPlace> places_;
};

}  // namespace tenax::app
