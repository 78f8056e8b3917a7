// LinkTransfers: what the exchange between replicas takes on the way to the rank after in the ring.
#pragma once

namespace tenax::comm {

/// Of some buckets: from when this rank had given the last chunk to the connection until it heard
/// that the rank after had taken all of them. That rank had said before that it takes them, and
/// waits for nothing else, so no waiting for others is in it. The last chunks (chunks_in_flight)
/// are still on their way then: it tells a link's delay, twice, and a lack of its bandwidth.
struct LinkTransfers {
  double seconds = 0;
  int buckets = 0;

  void add(double bucket_s) {
    seconds += bucket_s;
    ++buckets;
  }
  /// Of one bucket, on average; 0: there was none.
  double mean_s() const { return buckets > 0 ? seconds / buckets : 0; }
};

}  // namespace tenax::comm
