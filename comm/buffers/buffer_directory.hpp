// BufferDirectory: a table in shared memory, by which the two ends of a link agree on a shared
// buffer for each message. Sender or receiver, whoever comes to a message first, offers one of its
// own buffers; the other finds the offer. So a launching thread knows a message's address before
// the other end comes to it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "comm/link.hpp"
#include "comm/transport/futex_event.hpp"

namespace tenax::comm {

/// A message of a link: the end that sends it (0 or 1), its tag, and its number within the tag.
struct MessageKey {
  int sender = 0;
  Tag tag = 0;
  std::uint64_t number = 0;
};

/// The end that owns a shared buffer, and the buffer's index there. A message's header holds
/// code(), which is never 0.
struct SharedBufferId {
  static constexpr std::size_t kBuffers = 4095;  ///< per end
  int end = 0;
  std::size_t index = 0;
  std::uint64_t code() const { return 1 + 2 * index + static_cast<std::uint64_t>(end); }
  /// For codes from the other end: nothing where no buffer has this code.
  static std::optional<SharedBufferId> parse(std::uint64_t code);
  /// For codes that this end has made, or has parsed before.
  static SharedBufferId of_code(std::uint64_t code);
  bool operator==(const SharedBufferId&) const = default;
};

/// One end's view of the table. Thread rule: any thread; one at a time for a message or buffer.
class BufferDirectory {
 public:
  /// Both ends' knowledge of a shared buffer.
  struct Row {
    std::atomic<std::uint64_t> offset{0}, bytes{0};  ///< set by its owner before it is first offered
    std::atomic<std::uint64_t> filled{0};            ///< bytes of the present message that are there
    FutexEvent filling;
  };
  static constexpr std::size_t kBuckets = 4096;
  struct Memory {  ///< zeros at first
    std::atomic<std::uint32_t> is_open[2];
    std::array<std::array<std::atomic<std::uint64_t>, kBuckets>, 2> words;  // by sender
    std::array<std::array<Row, SharedBufferId::kBuffers>, 2> rows;          // by owner
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  /// `end`: 0 or 1.
  BufferDirectory(Memory& memory, int end) : memory_(memory), end_(end) {}

  void open() { memory_.is_open[end_].store(1); }
  bool is_open_at_both_ends() const {
    return memory_.is_open[0].load() != 0 && memory_.is_open[1].load() != 0;
  }

  /// The buffer that the other end offers for the message, if it does.
  std::optional<SharedBufferId> offered_by_peer(const MessageKey& key) const;
  /// This end uses it from now on: the other can no longer cancel its offer.
  bool accept(const MessageKey& key, SharedBufferId buffer);
  /// Offers a buffer of this end. False if the other end was faster, or the table has no line left
  /// for the message.
  bool offer(const MessageKey& key, SharedBufferId buffer);
  /// Cancels an offer. False if the other end has accepted it, or the message has ended.
  bool cancel(const MessageKey& key, SharedBufferId buffer);
  /// The receiver does not need the message's buffer any more.
  void release(const MessageKey& key, SharedBufferId buffer);
  /// Whether the message of a buffer that was offered has ended.
  bool is_released(const MessageKey& key, SharedBufferId buffer) const;

  Row& row(SharedBufferId buffer) { return memory_.rows[static_cast<std::size_t>(buffer.end)][buffer.index]; }
  int this_end() const { return end_; }

 private:
  std::atomic<std::uint64_t>& word(const MessageKey& key) const;

  Memory& memory_;
  const int end_;
};

}  // namespace tenax::comm
