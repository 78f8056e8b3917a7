// LeafSuspicions: what each leaf of a wait-for graph says against ranks.
#pragma once

#include <string>
#include <vector>

#include "resilience/blame/wait_graph.hpp"

namespace tenax::resilience {

struct Suspicion {
  int rank = 0;
  std::string operation;  ///< as Culprit has it
  double strength = 0;    ///< among those of one leaf
  bool is_guess = false;  ///< the leaf may be a wait that ends
};

/// Of a leaf: a strongly connected part of the graph that no edge leaves. Strongest first.
class LeafSuspicions {
 public:
  /// Both outlive it.
  LeafSuspicions(const HangDump& dump, const WaitGraph& graph) : dump_(dump), graph_(graph) {}

  /// `leaf`: its nodes. `awaited_at`: the point that leads to a leaf of one rank; −1: nobody waits for it.
  std::vector<Suspicion> of(const std::vector<int>& leaf, int awaited_at) const;
  /// "all_reduce 17 of tensor@4"
  std::string name_of_point(int node) const;

 private:
  Suspicion of_rank(int rank, int awaited_at) const;
  std::vector<Suspicion> of_stalled(int point) const;
  std::vector<Suspicion> of_differing(int point) const;
  std::vector<Suspicion> of_lost_messages(int point) const;
  std::vector<Suspicion> of_circle(const std::vector<int>& leaf) const;
  double waited_for(const WaitPoint& point) const;
  const OpenOperation* open_at(int rank, const WaitPoint& point) const;
  const HangDump::Channel& channel_of(const WaitPoint& point) const {
    return dump_.channels[static_cast<std::size_t>(point.channel)];
  }

  const HangDump& dump_;
  const WaitGraph& graph_;
};

}  // namespace tenax::resilience
