// Mailboxes: the messages of a group of ranks that are threads of one process. A send copies the
// message into the receiver's box, so it is done at once.
//
// Thread rule: any thread may use any box.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/link.hpp"

namespace tenax::comm {

/// The messages from one rank to one other. Messages of a tag are numbered from 0 by the sender;
/// receives draw the same numbers when they are posted, so that they match in order whichever is
/// looked at first.
class Mailbox {
 public:
  void put(Tag tag, std::span<const std::byte> bytes);
  std::uint64_t next_receive(Tag tag);
  using Message = std::vector<std::byte>;
  std::optional<Message> take(Tag tag, std::uint64_t number);
  std::optional<Message> take(Tag tag, std::uint64_t number, kernels::Deadline deadline);

 private:
  std::optional<Message> take_locked(Tag tag, std::uint64_t number);

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<Tag, std::uint64_t> sent_, posted_;
  std::map<std::pair<Tag, std::uint64_t>, Message> messages_;
};

/// What the endpoints of one group share: who belongs to it, and a mailbox for each ordered pair of
/// ranks.
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
