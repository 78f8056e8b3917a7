// ChunkSender: how a chunk leaves for the rank after.
#pragma once

#include <optional>

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
  ChunkSender(Settings settings, ChunkArithmetic& arithmetic)
      : settings_(settings), arithmetic_(arithmetic) {}
  /// Lets the rank after read these, if it is on this host. Throws Error(link).
  void share(OwnRegions regions, PolledStream& stream);

  /// What `stream` is to carry. A chunk without data leaves when its transmission has ended.
  FtarStream::Outgoing outgoing(const BucketExchange& bucket, const ChunkName& chunk, FtarStream& stream);

 private:
  void pack(const kernels::Tensor& values, FtarStream& stream, FtarStream::Outgoing& leaving);
  double departure_s(std::size_t bytes);

  const Settings settings_;
  ChunkArithmetic& arithmetic_;
  std::optional<OwnRegions> shared_;
  double link_free_s_ = 0;  // steady clock
};

}  // namespace tenax::comm
