// ChunkReceiver: where the values of incoming chunks go.
#pragma once

#include <memory>
#include <utility>

#include "comm/ftar/bucket_exchange.hpp"
#include "comm/ftar/chunk_arithmetic.hpp"
#include "comm/ftar/ftar_stream.hpp"

namespace tenax::comm {

/// Of one stream; one chunk at a time. What is added is read where the connection has put it, or comes
/// through a small buffer that stays in the processor's cache; complete sums are received where they
/// belong. Thread rule: one thread.
class ChunkReceiver {
 public:
  /// Both must outlive it.
  ChunkReceiver(FtarStream& stream, ChunkArithmetic& arithmetic, WireType wire)
      : stream_(stream), arithmetic_(arithmetic), wire_(wire) {}

  /// A chunk whose bytes follow. The exchange must live until it has been received, or for good.
  void begin(BucketExchange& exchange, const ChunkName& chunk);
  bool is_busy() const { return exchange_ != nullptr; }
  /// Takes some bytes, if they are there; true if they were. Throws Error(link).
  bool advance();
  const ChunkName& chunk() const { return chunk_; }
  /// It has come, to the last byte.
  bool is_complete() const { return taken_ == elements_; }
  /// Whose chunk it was; the receiver is free again.
  BucketExchange& finish() { return *std::exchange(exchange_, nullptr); }

  /// A chunk that lies in the sender's memory.
  void read_in_place(BucketExchange& exchange, const ChunkName& chunk, const std::byte* values);

 private:
  bool has_bf16(const kernels::Tensor& values) const { return is_rounded_on(wire_, values.dtype); }
  bool is_direct() const;
  bool receive_in_place();
  bool take_where_it_lies();
  bool receive_by_buffer();
  std::size_t width() const;
  void take(const void* values, ChunkForm form, std::int64_t count);

  FtarStream& stream_;
  ChunkArithmetic& arithmetic_;
  const WireType wire_;
  std::unique_ptr<kernels::Buffer> buffer_;
  BucketExchange* exchange_ = nullptr;
  ChunkName chunk_;
  std::int64_t elements_ = 0, taken_ = 0;  // of the chunk; of those that are where they belong
  std::size_t filled_ = 0;  // bytes beyond them: of the next elements, in place or in the buffer
};

}  // namespace tenax::comm
