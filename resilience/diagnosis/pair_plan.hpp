// Tests of links between single pairs of ranks: which pairs, and which of them at once. Pure.
#pragma once

#include <functional>
#include <vector>

#include "resilience/diagnosis/component.hpp"
#include "resilience/diagnosis/link_use.hpp"

namespace tenax::resilience {

/// Two world ranks that test the link between them, at once with the others of their round: no rank
/// is in two of these, and all are of one kind of group.
struct PairTest {
  parallel::GroupKind group = parallel::GroupKind::data;  ///< whose messages the link carried
  int rank = 0, other = 0;                                ///< the lower one first
  int round = 0;

  bool has(int of) const { return of == rank || of == other; }
  bool is_of(const Component& link) const {
    return link.is_link() && link.group == group && link.rank == rank && link.other == other;
  }
};

/// What a test said.
struct PairResult {
  PairTest test;
  double factor = 1;     ///< of the largest messages: what they took, to what they take on its like
  bool is_slow = false;  ///< by more than the request's `suspect` and by more than noise
};

/// visit_used_links() of a kind of group.
using UsedLinks = std::function<void(parallel::GroupKind kind, const LinkVisitor& visit)>;

/// `links`, and for comparison as many others of their kind, and one more, of those that are in use
/// and not `slow`; first such as have no end in common with `links`, since they can be tested at
/// the same time. Looks at no more links in use than it needs.
std::vector<PairTest> plan_pair_tests(const std::vector<Component>& links, const std::vector<Component>& slow,
                                      const UsedLinks& used_links);

}  // namespace tenax::resilience
