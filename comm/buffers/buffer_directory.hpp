// BufferDirectory: where the two ends of a link agree, message by message, on a shared buffer in memory that both see, without a word
// to each other: whoever comes to a message first, its sender or its receiver, names one of its own buffers for it, the
// other finds it there. So a launching thread knows a message's address before the other end has got that far.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "comm/link.hpp"
#include "comm/transport/futex_event.hpp"

namespace tenax::comm {

/// A message of a link: which end (0 or 1) sends it, its tag, and its number within that.
struct MessageKey {
  int sender = 0;
  Tag tag = 0;
  std::uint64_t number = 0;
};

/// A shared buffer: which end's it is, and which of those. In a message's header it is code(), never 0.
struct SharedBufferId {
  static constexpr std::size_t kBuffers = 4095;  ///< of one end
  int end = 0;
  std::size_t index = 0;
  std::uint64_t code() const { return 1 + 2 * index + static_cast<std::uint64_t>(end); }
  /// Nothing where no buffer has this code: of codes that come from the other end.
  static std::optional<SharedBufferId> parse(std::uint64_t code);
  /// Of a code() that this end has made, or has parsed before.
  static SharedBufferId of_code(std::uint64_t code);
  bool operator==(const SharedBufferId&) const = default;
};

/// One end's view. Thread rule: any thread, as far as each function's caller has a message or buffer to itself.
class BufferDirectory {
 public:
  /// What both ends know of a shared buffer.
  struct Row {
    std::atomic<std::uint64_t> offset{0}, bytes{0};  ///< set by its owner before it is first offered
    std::atomic<std::uint64_t> filled{0};            ///< so much of the present message is there
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

  /// The buffer that the other end has named for the message, if it has.
  std::optional<SharedBufferId> offered_by_peer(const MessageKey& key) const;
  /// This end uses it from now on; the other no longer takes it back.
  bool accept(const MessageKey& key, SharedBufferId buffer);
  /// Names a shared buffer of this end; false if the other was faster, or the directory has no line left for the message.
  bool offer(const MessageKey& key, SharedBufferId buffer);
  /// Takes an offer back; false if the other end has accepted it, or the message has ended.
  bool cancel(const MessageKey& key, SharedBufferId buffer);
  /// Nobody needs the message's buffer any more: said by its receiver.
  void release(const MessageKey& key, SharedBufferId buffer);
  /// Of a shared buffer that was named: whether its message has ended.
  bool is_released(const MessageKey& key, SharedBufferId buffer) const;

  Row& row(SharedBufferId buffer) { return memory_.rows[static_cast<std::size_t>(buffer.end)][buffer.index]; }
  int this_end() const { return end_; }

 private:
  std::atomic<std::uint64_t>& word(const MessageKey& key) const;

  Memory& memory_;
  const int end_;
};

}  // namespace tenax::comm
