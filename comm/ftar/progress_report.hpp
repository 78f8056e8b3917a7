// ProgressReport: what the rank after has of the buckets, told when a stream begins, as it may replace a broken one.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "comm/ftar/bucket_exchange.hpp"

namespace tenax::comm {

/// One of the streams between two neighbours. Chunks of a column always take the same one; grants and
/// acknowledgements take the first.
struct StreamPlace {
  int number = 0, streams = 1;
  bool carries(int column) const { return column % streams == number; }
  bool is_first() const { return number == 0; }
};

/// The rank after begins each stream with the report: of each bucket that lacks chunks its grant
/// (on the first stream) and, for each column of the stream, how many turns it `has`; `complete` ends
/// it. The rank before sends nothing before that, then what the rank after lacks. A repeated chunk
/// writes the same sums to the same place. Of a bucket that has begun there and is not in the report
/// nothing is lacking: its acknowledgement is lost, or on its way. Pure. Thread rule: one thread.
class ProgressReport {
 public:
  using Buckets = std::vector<std::unique_ptr<BucketExchange>>;

  /// What the rank after says. `checksum`: a grant's.
  static std::vector<FtarMessage> of(const Buckets& buckets, const StreamPlace& place,
                                     std::uint64_t checksum);

  /// At the rank before.
  explicit ProgressReport(StreamPlace place) : place_(place) {}
  void take(const FtarMessage& has);
  /// Once it is complete, and its grants have been taken: what the rank after lacks is next to be sent
  /// again. False: the report cannot be.
  bool apply(const Buckets& buckets) const;

 private:
  bool rewind(BucketExchange& bucket) const;

  const StreamPlace place_;
  std::map<BucketName, std::map<int, std::int64_t>> turns_;  // by column
};

/// "Begin bucket b": what this rank tells the rank before.
FtarMessage grant_of(const BucketExchange& bucket, std::uint64_t checksum);

}  // namespace tenax::comm
