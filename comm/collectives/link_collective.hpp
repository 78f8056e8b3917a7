// LinkCollective: what the collectives over links have in common: their group, the messages they
// wait for, and errors that name the ranks that did not answer.
#pragma once

#include <string>
#include <vector>

#include "comm/collectives/staging_pool.hpp"
#include "comm/communicator.hpp"
#include "comm/poll.hpp"

namespace tenax::comm {

/// The group a collective runs in. Lives in the communicator, longer than its collectives.
struct LinkGroup {
  std::string name;
  Endpoint& endpoint;
  kernels::Device& device;
  StagingPool staging;

  int rank() const { return endpoint.rank(); }
  int size() const { return endpoint.size(); }
};

/// First element of piece `piece` when `elements` are cut into `pieces`, equal where that is
/// possible.
constexpr std::int64_t piece_begin(std::int64_t elements, int piece, int pieces) {
  return elements * piece / pieces;
}

class LinkCollective : public Transfer {
 public:
  LinkCollective(LinkGroup& group, kernels::Stream& stream, const kernels::Tensor& tensor, const char* what,
                 Tag tag)
      : group_(group), stream_(stream), tensor_(tensor), what_(what), tag_(tag) {}

  void wait(kernels::Deadline deadline) override;

 protected:
  struct Message {
    TransferPtr transfer;
    int peer;
  };

  /// Peers in an order that differs from rank to rank, so that not all of them send to rank 0
  /// first.
  int peer_at(int step) const { return (group_.rank() + step) % group_.size(); }
  kernels::Tensor piece(int index) const;
  kernels::Tensor elements(std::int64_t begin, std::int64_t count) const {
    return tensor_.part(begin, {count});
  }
  void send(int peer, const kernels::Tensor& part) {
    sends_.push_back({group_.endpoint.link(peer).send(stream_, part, tag_), peer});
  }
  Message receive(int peer, const kernels::Tensor& part) {
    return {group_.endpoint.link(peer).receive(stream_, part, tag_), peer};
  }
  /// Drops the messages that are done; true when none is left.
  static bool all_done(std::vector<Message>& messages);
  bool sends_done() { return all_done(sends_); }
  /// The messages still awaited, for an error.
  virtual const std::vector<Message>& awaited() const = 0;

  LinkGroup& group_;
  kernels::Stream& stream_;
  kernels::Tensor tensor_;

 private:
  std::string waiting_for() const;

  const char* what_;
  Tag tag_;
  std::vector<Message> sends_;
  Stopwatch stopwatch_;
};

}  // namespace tenax::comm
