// All-gather by direct exchange: every rank sends its own piece to all others and receives theirs in place.
#pragma once

#include "comm/collectives/link_collective.hpp"

namespace tenax::comm {

class LinkAllGather final : public LinkCollective {
 public:
  LinkAllGather(LinkGroup& group, kernels::Stream& stream, const kernels::Tensor& tensor, const char* what,
                Tag tag)
      : LinkCollective(group, stream, tensor, what, tag) {
    for (int step = 1; step < group.size(); ++step) {
      const int source = group.size() - step;  // as a step backwards from this rank
      if (piece(peer_at(source)).size() > 0)
        receives_.push_back(receive(peer_at(source), piece(peer_at(source))));
    }
    for (int step = 1; step < group.size(); ++step)
      if (piece(group.rank()).size() > 0) send(peer_at(step), piece(group.rank()));
  }
  bool done() override { return all_done(receives_) && sends_done(); }

 private:
  const std::vector<Message>& awaited() const override { return receives_; }
  std::vector<Message> receives_;
};

}  // namespace tenax::comm
