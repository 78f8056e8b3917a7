#include "comm/ftar/chunk_receiver.hpp"

#include <algorithm>

namespace tenax::comm {
namespace {

using kernels::Tensor;

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;

}  // namespace

void ChunkReceiver::begin(BucketExchange& exchange, const ChunkName& chunk) {
  exchange_ = &exchange;
  chunk_ = chunk;
  elements_ = exchange.result(chunk).size();
  taken_ = 0;
  filled_ = 0;
}

bool ChunkReceiver::advance() {
  if (is_direct()) return receive_in_place();
  return take_where_it_lies() || receive_by_buffer();
}

bool ChunkReceiver::is_direct() const {
  return arithmetic_.is_host_memory() && !exchange_->plan().adds(chunk_.turn) &&
         !has_bf16(exchange_->result(chunk_));
}

bool ChunkReceiver::receive_in_place() {
  const std::span<std::byte> memory = exchange_->result(chunk_).raw();
  const std::size_t count = stream_.receive_payload(memory.subspan(filled_));
  filled_ += count;
  if (filled_ == memory.size()) taken_ = elements_;
  return count > 0;
}

/// Of an element.
std::size_t ChunkReceiver::width() const {
  const Tensor result = exchange_->result(chunk_);
  return wire_bytes(wire_, result) / static_cast<std::size_t>(elements_);
}

/// False: no whole element is there, or none that a processor may read.
bool ChunkReceiver::take_where_it_lies() {
  if (filled_ > 0 || !arithmetic_.is_host_memory()) return false;
  const std::span<const std::byte> come = stream_.peek_payload();
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(come.data()) % width() == 0;
  const auto count = std::min(elements_ - taken_, static_cast<std::int64_t>(come.size() / width()));
  if (count == 0 || !is_aligned) return false;
  const std::size_t bytes = static_cast<std::size_t>(count) * width();
  take(come.data(), has_bf16(exchange_->result(chunk_)) ? ChunkForm::bf16 : ChunkForm::as_is, count);
  stream_.take_payload(bytes);
  return true;
}

bool ChunkReceiver::receive_by_buffer() {
  if (!buffer_) buffer_ = arithmetic_.allocate(kBufferBytes);
  const Tensor result = exchange_->result(chunk_);
  const std::size_t wanted = std::min(kBufferBytes, static_cast<std::size_t>(elements_ - taken_) * width());
  auto* const bytes = static_cast<std::byte*>(buffer_->data());
  const std::size_t count = stream_.receive_payload({bytes + filled_, wanted - filled_});
  filled_ += count;
  if (filled_ == wanted) {
    take(bytes, has_bf16(result) ? ChunkForm::bf16 : ChunkForm::as_is,
         static_cast<std::int64_t>(wanted / width()));
    filled_ = 0;
  }
  return count > 0;
}

void ChunkReceiver::read_in_place(BucketExchange& exchange, const ChunkName& chunk, const std::byte* values) {
  begin(exchange, chunk);
  const bool is_rounded_here = exchange.plan().adds(chunk.turn) && has_bf16(exchange.result(chunk));
  take(values, is_rounded_here ? ChunkForm::unrounded : ChunkForm::as_is, elements_);
}

/// The next elements of the chunk.
void ChunkReceiver::take(const void* values, ChunkForm form, std::int64_t count) {
  const Tensor result = exchange_->result(chunk_).part(taken_, {count});
  const ExchangePlan& plan = exchange_->plan();
  if (plan.adds(chunk_.turn))
    arithmetic_.add({.own = exchange_->own(chunk_).part(taken_, {count}),
                     .result = result,
                     .incoming = values,
                     .form = form,
                     .is_rounded = has_bf16(result) && plan.completes(chunk_.turn)});
  else
    arithmetic_.copy(values, form, result);
  taken_ += count;
}

}  // namespace tenax::comm
