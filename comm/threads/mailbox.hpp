// Mailboxes: the messages of a group of ranks that are threads of one process. A send copies the message
// into the receiver's box, so it is done at once.
//
// Thread rule: any thread may use any box.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm/link.hpp"

namespace tenax::comm {

/// The messages from one rank to one other. Messages of a tag are numbered from 0 by the sender; receives
/// draw the same numbers when they are posted, so that they match in order whichever is looked at first.
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

}  // namespace tenax::comm
