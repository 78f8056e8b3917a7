// Component: a rank or a link that is slow, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallel/layout/process_grid.hpp"
#include "resilience/diagnosis/throttling.hpp"

namespace tenax::resilience {

enum class SlowCause {
  none,            ///< nothing is slow, or not any more
  compute,         ///< the device itself
  cpu_contention,  ///< others run on the rank's processors
  link,
  several,  ///< components differ in their causes
  common    ///< all became slower alike
};
/// "none", "compute", "cpu_contention", …: the words of the event.
const char* name_of(SlowCause cause);

struct Component {
  enum class Kind { rank, link };
  Kind kind = Kind::rank;
  int rank = 0;   ///< of a link: its end with the lower number
  int other = 0;  ///< of a link: its other end
  /// Of a link: the group whose messages it carries.
  parallel::GroupKind group = parallel::GroupKind::data;
  SlowCause cause = SlowCause::compute;
  double factor = 1;     ///< measured / healthy
  double healthy_s = 0;  ///< what the factor is of
  /// Of a rank that computes slowly: its device is held back.
  std::optional<Throttling> throttling = {};

  bool is_link() const { return kind == Kind::link; }
  /// Whether it is the same part, however slow and why.
  bool is_same_part(const Component& o) const {
    return kind == o.kind && rank == o.rank && (!is_link() || (other == o.other && group == o.group));
  }
};

/// The one cause of all; `several` where they differ; `none` of none.
SlowCause cause_of(const std::vector<Component>& components);

/// A group whose transfers have become slow: one of its links is, or several.
struct SuspectGroup {
  parallel::GroupKind kind = parallel::GroupKind::data;
  std::vector<int> ranks;  ///< world ranks, in the group's order
  double factor = 1;       ///< its transfer time / healthy
};

/// The links of its ring: what is slow of it where none of its links has been tested.
std::vector<Component> links_round(const SuspectGroup& group);

/// What profiling leaves.
struct Suspects {
  std::vector<Component> components;  ///< ranks, pipeline links, links of groups of two
  std::vector<SuspectGroup> groups;   ///< of three ranks or more: any link of them
  bool is_common = false;             ///< all became slower alike; nothing else is suspect

  /// How many components may be slow.
  std::size_t count() const;
};

}  // namespace tenax::resilience
