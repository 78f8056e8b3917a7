#include "comm/ftar/progress_report.hpp"

#include <algorithm>

namespace tenax::comm {

using Kind = FtarMessage::Kind;

FtarMessage grant_of(const BucketExchange& bucket, std::uint64_t checksum) {
  FtarMessage grant = message_about(Kind::grant, bucket.name());
  grant.turn = bucket.elements();
  grant.column = static_cast<std::int32_t>(bucket.dtype());
  grant.offset = checksum;
  return grant;
}

std::vector<FtarMessage> ProgressReport::of(const Buckets& buckets, const StreamPlace& place,
                                            std::uint64_t checksum) {
  std::vector<FtarMessage> messages;
  for (const auto& bucket : buckets) {
    if (bucket->has_received_all()) continue;
    if (place.is_first()) messages.push_back(grant_of(*bucket, checksum));
    for (int column = 0; column < bucket->plan().columns(); ++column)
      if (place.carries(column))
        messages.push_back(message_about(Kind::has, bucket->name(), {bucket->received(column), column}));
  }
  messages.push_back(message_about(Kind::complete, {}));
  return messages;
}

void ProgressReport::take(const FtarMessage& has) { turns_[{has.step, has.bucket}][has.column] = has.turn; }

bool ProgressReport::apply(const Buckets& buckets) const {
  return std::all_of(buckets.begin(), buckets.end(), [this](const auto& bucket) { return rewind(*bucket); });
}

bool ProgressReport::rewind(BucketExchange& bucket) const {
  const auto found = turns_.find(bucket.name());
  if (found != turns_.end())
    return std::all_of(found->second.begin(), found->second.end(), [&](const auto& has) {
      return place_.carries(has.first) && bucket.send_again(has.first, has.second);
    });
  if (!place_.is_first() || !bucket.is_granted()) return true;
  bucket.acknowledge();
  return bucket.has_sent_all();
}

}  // namespace tenax::comm
