// LinkProbe: how long messages take over the links of a group, measured by its ranks in pairs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "resilience/diagnosis/probe_rounds.hpp"

namespace tenax::resilience {

/// Messages of this rank to another one of its group.
struct SentProbe {
  int peer = 0;        ///< in the group
  double seconds = 0;  ///< of one message, until its answer had come: the least
};

class LinkProbe {
 public:
  /// `group`, which has links, and `device`, which is its, must outlive this. No wait lasts longer
  /// than `deadline_s`.
  LinkProbe(comm::Communicator& group, kernels::Device& device, double deadline_s);

  /// Collective over the group, while none of its collectives is under way. The two ranks of a pair
  /// wait for each other; then the lower one sends `times` messages of `bytes`, rounded up to whole
  /// floats, one at a time, each of which the other answers with a tiny one; then the other way round.
  /// Returns what this rank sent, in the order of `rounds`. Takes host memory for the largest
  /// message (none where the device has no data). Throws Error(link), or Error(rank) for memory.
  std::vector<SentProbe> run(const std::vector<ProbeRound>& rounds, std::size_t bytes, int times);

 private:
  void make_message(std::size_t bytes);
  void meet(comm::Link& link);
  SentProbe send(int peer, int times);
  void answer(comm::Link& link, int times);
  /// Ends a transfer, and returns when its message had arrived.
  double wait(comm::Transfer& transfer);

  comm::Communicator& group_;
  kernels::Device& device_;
  const double deadline_s_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<kernels::Buffer> memory_;  // null where the device has no data
  kernels::Tensor message_, sent_word_, received_word_;
};

}  // namespace tenax::resilience
