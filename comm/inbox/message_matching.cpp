#include "comm/inbox/message_matching.hpp"

#include <algorithm>

namespace tenax::comm {

void PostedReceive::fail(const Failure& reason) {
  phase = Phase::failed;
  failure = reason;
}

std::uint64_t MessageMatching::next_number(Tag tag, std::size_t bytes) {
  largest_ = std::max(largest_, bytes);
  return tallies_[tag].numbered++;
}

PostedReceivePtr MessageMatching::find(const Key& key) const {
  const auto found = posted_.find(key);
  return found == posted_.end() ? nullptr : found->second;
}

void MessageMatching::fail(const Failure& reason) {
  for (const auto& [key, receive] : posted_) receive->fail(reason);
  posted_.clear();
}

std::optional<ArrivedMessage> MessageMatching::take(const Key& key) {
  const auto found = early_.find(key);
  if (found == early_.end()) return std::nullopt;
  ArrivedMessage message = std::move(found->second);
  early_.erase(found);
  return message;
}

bool MessageMatching::was_delivered(const Key& key) {
  const Tally& tally = tallies_[key.first];
  return key.second < tally.delivered_below || tally.delivered.contains(key.second);
}

void MessageMatching::mark_delivered(const Key& key) {
  Tally& tally = tallies_[key.first];
  tally.delivered.insert(key.second);
  while (tally.delivered.erase(tally.delivered_below) > 0) ++tally.delivered_below;
}

}  // namespace tenax::comm
