// A message has one word, in a line that follows from tag and number; 0 = free. Two messages at a time may want one line:
// the second then does without a place. Fields, from the lowest bit: is it accepted (1), the place's code (13), the tag (20),
// the number's lower bits (30). Offering, accepting and taking back exchange whole words, so one of two who try is the
// first, and both ends agree on what has happened.
#include "comm/buffers/place_ledger.hpp"

#include <cassert>

namespace tenax::comm {
namespace {

constexpr int kPlaceBits = 13, kTagBits = 20, kNumberBits = 30;
static_assert(1 + kPlaceBits + kTagBits + kNumberBits == 64);
static_assert(2 * PlaceId::kPlaces < (1u << kPlaceBits) && kMaxTag == 1 << kTagBits);
constexpr std::uint64_t kAccepted = 1;
/// From one number's lines to the next one's: messages under way differ in their tags, or are a few steps apart.
constexpr std::uint64_t kLinesPerNumber = 977;

std::uint64_t offer_of(const MessageKey& key, PlaceId place) {
  const std::uint64_t number = key.number & ((std::uint64_t{1} << kNumberBits) - 1);
  return ((number << kTagBits | static_cast<std::uint64_t>(key.tag)) << kPlaceBits | place.code()) << 1;
}

/// The other end writes words too.
std::optional<PlaceId> place_of(std::uint64_t word) {
  return PlaceId::parse(word >> 1 & ((std::uint64_t{1} << kPlaceBits) - 1));
}

}  // namespace

std::optional<PlaceId> PlaceId::parse(std::uint64_t code) {
  if (code == 0 || code > 2 * kPlaces) return std::nullopt;
  return PlaceId{static_cast<int>((code - 1) % 2), static_cast<std::size_t>((code - 1) / 2)};
}

PlaceId PlaceId::of_code(std::uint64_t code) {
  const std::optional<PlaceId> place = parse(code);
  assert(place);
  return *place;
}

std::atomic<std::uint64_t>& PlaceLedger::word(const MessageKey& key) const {
  const std::uint64_t line = static_cast<std::uint64_t>(key.tag) + key.number * kLinesPerNumber;
  return memory_.words[static_cast<std::size_t>(key.sender)][line % kBuckets];
}

std::optional<PlaceId> PlaceLedger::named_by_peer(const MessageKey& key) const {
  const std::uint64_t seen = word(key).load();
  if (seen == 0) return std::nullopt;
  const std::optional<PlaceId> place = place_of(seen);
  if (!place || place->end == end_ || (seen & ~kAccepted) != offer_of(key, *place)) return std::nullopt;
  return place;
}

bool PlaceLedger::accept(const MessageKey& key, PlaceId place) {
  std::uint64_t seen = offer_of(key, place);
  return word(key).compare_exchange_strong(seen, seen | kAccepted) ||
         seen == (offer_of(key, place) | kAccepted);
}

bool PlaceLedger::offer(const MessageKey& key, PlaceId place) {
  std::uint64_t free = 0;
  return word(key).compare_exchange_strong(free, offer_of(key, place));
}

bool PlaceLedger::withdraw(const MessageKey& key, PlaceId place) {
  std::uint64_t offered = offer_of(key, place);
  return word(key).compare_exchange_strong(offered, 0);
}

void PlaceLedger::end(const MessageKey& key, PlaceId place) {
  std::uint64_t accepted = offer_of(key, place) | kAccepted;
  word(key).compare_exchange_strong(accepted, 0);
}

bool PlaceLedger::has_ended(const MessageKey& key, PlaceId place) const {
  return (word(key).load() & ~kAccepted) != offer_of(key, place);
}

}  // namespace tenax::comm
