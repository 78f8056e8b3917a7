// Which links the messages of a kind of group go over at present. Pure.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/layout/process_grid.hpp"
#include "resilience/diagnosis/component.hpp"

namespace tenax::resilience {

/// Two world ranks, the lower one first.
using LinkEnds = std::pair<int, int>;

/// The ways that messages take within groups. Where links are not told
/// (comm::LinkTopology::none), any two ranks of a group may exchange some.
struct LinkRoutes {
  comm::LinkTopology tensor = comm::LinkTopology::none, data = comm::LinkTopology::none;
  /// World ranks round each data ring whose order is not the group's own.
  std::vector<std::vector<int>> rings = {};
};

/// Whether messages of `link`'s kind of group go between its ends. Pipelines' go between
/// neighbouring stages, by whatever path.
bool is_used(const Component& link, const parallel::ProcessGrid& grid, const LinkRoutes& routes);

/// Is shown one link after the other; false: it needs no more.
using LinkVisitor = std::function<bool(const LinkEnds& link)>;

/// Shows `visit` the links that messages of such groups go over, by their lower ranks, until it needs
/// no more; `kind` is tensor, data or pipeline. Each rank takes as many steps as its group has ranks.
void visit_used_links(parallel::GroupKind kind, const parallel::ProcessGrid& grid, const LinkRoutes& routes,
                      const LinkVisitor& visit);

}  // namespace tenax::resilience
