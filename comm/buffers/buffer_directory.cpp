// A message has one word, in a line that follows from tag and number; 0 = free. Two messages at a time may want one line:
// the second then does without a shared buffer. Fields, from the lowest bit: is it accepted (1), the buffer's code (13), the tag (20),
// the number's lower bits (30). Offering, accepting and taking back exchange whole words, so one of two who try is the
// first, and both ends agree on what has happened.
#include "comm/buffers/buffer_directory.hpp"

#include <cassert>

namespace tenax::comm {
namespace {

constexpr int kBufferBits = 13, kTagBits = 20, kNumberBits = 30;
static_assert(1 + kBufferBits + kTagBits + kNumberBits == 64);
static_assert(2 * SharedBufferId::kBuffers < (1u << kBufferBits) && kMaxTag == 1 << kTagBits);
constexpr std::uint64_t kAccepted = 1;
/// From one number's lines to the next one's: messages under way differ in their tags, or are a few steps apart.
constexpr std::uint64_t kLinesPerNumber = 977;

std::uint64_t offer_of(const MessageKey& key, SharedBufferId buffer) {
  const std::uint64_t number = key.number & ((std::uint64_t{1} << kNumberBits) - 1);
  return ((number << kTagBits | static_cast<std::uint64_t>(key.tag)) << kBufferBits | buffer.code()) << 1;
}

/// The other end writes words too.
std::optional<SharedBufferId> buffer_of(std::uint64_t word) {
  return SharedBufferId::parse(word >> 1 & ((std::uint64_t{1} << kBufferBits) - 1));
}

}  // namespace

std::optional<SharedBufferId> SharedBufferId::parse(std::uint64_t code) {
  if (code == 0 || code > 2 * kBuffers) return std::nullopt;
  return SharedBufferId{static_cast<int>((code - 1) % 2), static_cast<std::size_t>((code - 1) / 2)};
}

SharedBufferId SharedBufferId::of_code(std::uint64_t code) {
  const std::optional<SharedBufferId> buffer = parse(code);
  assert(buffer);
  return *buffer;
}

std::atomic<std::uint64_t>& BufferDirectory::word(const MessageKey& key) const {
  const std::uint64_t line = static_cast<std::uint64_t>(key.tag) + key.number * kLinesPerNumber;
  return memory_.words[static_cast<std::size_t>(key.sender)][line % kBuckets];
}

std::optional<SharedBufferId> BufferDirectory::offered_by_peer(const MessageKey& key) const {
  const std::uint64_t seen = word(key).load();
  if (seen == 0) return std::nullopt;
  const std::optional<SharedBufferId> buffer = buffer_of(seen);
  if (!buffer || buffer->end == end_ || (seen & ~kAccepted) != offer_of(key, *buffer)) return std::nullopt;
  return buffer;
}

bool BufferDirectory::accept(const MessageKey& key, SharedBufferId buffer) {
  std::uint64_t seen = offer_of(key, buffer);
  return word(key).compare_exchange_strong(seen, seen | kAccepted) ||
         seen == (offer_of(key, buffer) | kAccepted);
}

bool BufferDirectory::offer(const MessageKey& key, SharedBufferId buffer) {
  std::uint64_t free = 0;
  return word(key).compare_exchange_strong(free, offer_of(key, buffer));
}

bool BufferDirectory::cancel(const MessageKey& key, SharedBufferId buffer) {
  std::uint64_t offered = offer_of(key, buffer);
  return word(key).compare_exchange_strong(offered, 0);
}

void BufferDirectory::release(const MessageKey& key, SharedBufferId buffer) {
  std::uint64_t accepted = offer_of(key, buffer) | kAccepted;
  word(key).compare_exchange_strong(accepted, 0);
}

bool BufferDirectory::is_released(const MessageKey& key, SharedBufferId buffer) const {
  return (word(key).load() & ~kAccepted) != offer_of(key, buffer);
}

}  // namespace tenax::comm
