// MessageMatching: which message of a peer belongs to which receive.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "comm/connection.hpp"
#include "comm/failure.hpp"
#include "comm/host_staging.hpp"
#include "comm/inbox/copy_in.hpp"
#include "comm/transfer.hpp"

namespace tenax::comm {

/// A receive, shared by its transfer and whoever delivers its message.
struct PostedReceive {
  /// waiting: for its message; filling: a thread writes into its memory; received (asynchronous
  /// devices): the message is in its host buffer, and the posting thread does the rest; copying
  /// (others): the copy into its tensor is enqueued.
  enum class Phase { waiting, filling, received, copying, done, failed };

  kernels::Tensor tensor;
  Tag tag = 0;
  std::uint64_t number = 0;
  double posted_s = 0;
  Phase phase = Phase::waiting;
  const kernels::Event* copied = nullptr;  ///< while copying
  TransferTiming timing;
  Failure failure;
  // Asynchronous devices:
  HostBuffer host_buffer;                    ///< where the message arrives
  CopyIn::Tickets tickets;                   ///< for a copy enqueued before the message came
  std::uint32_t pieces_here = 0;             ///< how many of the message's pieces have come
  std::unique_ptr<kernels::Event> writable;  ///< passed when the tensor may be written

  std::pair<Tag, std::uint64_t> key() const { return {tag, number}; }
  std::string describe() const { return describe_message("receive", tensor.bytes(), tag); }
  void fail(const Failure& reason);
};
using PostedReceivePtr = std::shared_ptr<PostedReceive>;

/// A message that is here. `host_buffer`, or the header's shared buffer, holds what must be copied
/// to the tensor, if anything.
struct ArrivedMessage {
  MessageHeader header;
  HostBuffer host_buffer;
  double arrived_s = 0;
};

/// Messages and receives of a tag are numbered from 0 each, and match by number, whichever comes
/// first.
///
/// Thread rule: none of its own; its owner's lock guards it and every PostedReceive.
class MessageMatching {
 public:
  using Key = std::pair<Tag, std::uint64_t>;  ///< tag and number

  /// The number of the tag's next receive, which wants `bytes`.
  std::uint64_t next_number(Tag tag, std::size_t bytes);
  /// Bytes of the largest receive so far.
  std::size_t largest() const { return largest_; }
  bool was_numbered(const Key& key) { return key.second < tallies_[key.first].numbered; }

  /// Receives that wait for their message:
  void post(const PostedReceivePtr& receive) { posted_.emplace(receive->key(), receive); }
  /// Null where none waits.
  PostedReceivePtr find(const Key& key) const;
  void remove(const Key& key) { posted_.erase(key); }
  /// All of them fail.
  void fail(const Failure& reason);

  /// Messages that wait for their receive:
  void keep(const Key& key, ArrivedMessage message) { early_.emplace(key, std::move(message)); }
  std::optional<ArrivedMessage> take(const Key& key);
  void drop_early() { early_.clear(); }

  /// Messages that are being delivered; one delivery of a message at a time.
  bool is_arriving(const Key& key) const { return arriving_.contains(key); }
  void begin_arrival(const Key& key) { arriving_.insert(key); }
  void end_arrival(const Key& key) { arriving_.erase(key); }
  bool has_arrivals() const { return !arriving_.empty(); }

  bool was_delivered(const Key& key);
  void mark_delivered(const Key& key);

 private:
  struct Tally {  // one per tag
    std::uint64_t numbered = 0;
    std::uint64_t delivered_below = 0;  // all these numbers have been delivered, and
    std::set<std::uint64_t> delivered;  // these beyond them
  };

  std::map<Tag, Tally> tallies_;
  std::size_t largest_ = 0;
  std::map<Key, PostedReceivePtr> posted_;
  std::map<Key, ArrivedMessage> early_;
  std::set<Key> arriving_;
};

}  // namespace tenax::comm
