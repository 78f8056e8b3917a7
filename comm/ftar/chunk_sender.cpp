#include "comm/ftar/chunk_sender.hpp"

#include <algorithm>

namespace tenax::comm {

using kernels::Tensor;

FtarStream::Outgoing ChunkSender::outgoing(const BucketExchange& bucket, const ChunkName& chunk,
                                           FtarStream& stream) {
  FtarStream::Outgoing leaving{message_about(FtarMessage::Kind::chunk, bucket.name(), chunk), {}, nullptr};
  const Tensor values = bucket.source(chunk);
  if (!values) {
    leaving.not_before_s = departure_s(wire_bytes(settings_.wire, values));
  } else if (const auto place = is_shared_ ? regions_.find(values.raw()) : std::nullopt) {
    leaving.message.region = place->region;
    leaving.message.offset = place->offset;
  } else {
    leaving.message.payload_bytes = wire_bytes(settings_.wire, values);
    if (arithmetic_.is_host_memory() && !is_rounded_on(settings_.wire, values.dtype))
      leaving.payload = values.raw();
    else
      pack(values, stream, leaving);
  }
  return leaving;
}

void ChunkSender::pack(const Tensor& values, FtarStream& stream, FtarStream::Outgoing& leaving) {
  leaving.packed = stream.spare_buffer();
  if (!leaving.packed) leaving.packed = arithmetic_.allocate(settings_.chunk_bytes);
  const std::span<std::byte> bytes(static_cast<std::byte*>(leaving.packed->data()),
                                   leaving.message.payload_bytes);
  arithmetic_.pack(values, settings_.wire, bytes);
  leaving.payload = bytes;
}

/// When a message that begins as soon as the link is free has left it.
double ChunkSender::departure_s(std::size_t bytes) {
  if (settings_.link_gbps == 0) return 0;
  link_free_s_ = std::max(link_free_s_, kernels::steady_now_s()) +
                 static_cast<double>(bytes) * 8 / (settings_.link_gbps * 1e9);
  return link_free_s_;
}

}  // namespace tenax::comm
