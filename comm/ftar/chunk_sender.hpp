// ChunkSender: how a chunk leaves for the rank after.
#pragma once

#include <utility>

#include "comm/ftar/bucket_exchange.hpp"
#include "comm/ftar/chunk_arithmetic.hpp"
#include "comm/ftar/ftar_stream.hpp"
#include "comm/ftar/shared_regions.hpp"

namespace tenax::comm {

/// As a place in memory that the rank after reads; else straight from the bucket; else packed, where
/// its values are rounded or the network cannot read them. Thread rule: one thread.
class ChunkSender {
 public:
  struct Settings {
    WireType wire = WireType::fp32;
    std::size_t chunk_bytes = 0;  ///< the largest chunk
    double link_gbps = 0;         ///< emulated device: bandwidth to the rank after; 0: no limit
  };
  /// `arithmetic` must outlive it.
  ChunkSender(Settings settings, OwnRegions regions, ChunkArithmetic& arithmetic)
      : settings_(settings), regions_(std::move(regions)), arithmetic_(arithmetic) {}
  /// From now on the rank after reads the regions, if it is on this host: it gets them beside the stream. Throws
  /// Error(link).
  void share_over(PolledStream& stream) { is_shared_ = regions_.share_over(stream); }

  /// What `stream` is to carry. A chunk without data leaves when its transmission has ended.
  FtarStream::Outgoing outgoing(const BucketExchange& bucket, const ChunkName& chunk, FtarStream& stream);

 private:
  void pack(const kernels::Tensor& values, FtarStream& stream, FtarStream::Outgoing& leaving);
  double departure_s(std::size_t bytes);

  const Settings settings_;
  const OwnRegions regions_;
  ChunkArithmetic& arithmetic_;
  bool is_shared_ = false;
  double link_free_s_ = 0;  // steady clock
};

}  // namespace tenax::comm
