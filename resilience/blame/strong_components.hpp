// Strongly connected components of a directed graph (Tarjan, 1972).
#pragma once

#include <vector>

namespace tenax::resilience {

/// Nodes are numbered from 0; next[n]: where node n leads.
using Successors = std::vector<std::vector<int>>;

struct StrongComponents {
  std::vector<int> of_node;  ///< a component for each node; edges between components lead to lower numbers
  int count = 0;
};

/// Time and memory are linear in nodes and edges; there is no recursion.
StrongComponents strong_components(const Successors& next);

}  // namespace tenax::resilience
