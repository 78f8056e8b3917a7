// Endpoint and links between ranks that are threads of one process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/link.hpp"
#include "comm/threads/mailbox.hpp"

namespace tenax::comm {

/// What the endpoints of one group share: who belongs to it, and a mailbox for each ordered pair of ranks.
class MailboxGroup {
 public:
  explicit MailboxGroup(std::vector<int> world_ranks)
      : world_ranks_(std::move(world_ranks)), boxes_(world_ranks_.size() * world_ranks_.size()) {}
  int size() const { return static_cast<int>(world_ranks_.size()); }
  int world_rank(int rank) const { return world_ranks_[static_cast<std::size_t>(rank)]; }
  Mailbox& box(int from, int to) { return boxes_[static_cast<std::size_t>(from * size() + to)]; }

 private:
  std::vector<int> world_ranks_;
  std::vector<Mailbox> boxes_;
};

std::unique_ptr<Endpoint> create_thread_endpoint(std::shared_ptr<MailboxGroup> group, int rank);

}  // namespace tenax::comm
