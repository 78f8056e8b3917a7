#include "comm/ftar/ftar_stream.hpp"

#include <algorithm>

#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

PolledStream& stream_of(Connection& connection) {
  if (PolledStream* const stream = connection.stream()) return *stream;
  throw kernels::Error(kernels::Scope::link,
                       connection.describe() + ": cannot be polled, which exchanges between replicas need");
}

}  // namespace

FtarStream::FtarStream(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)), stream_(stream_of(*connection_)) {}

void FtarStream::post(Outgoing outgoing) {
  if (!is_deaf_) queue_.push_back(std::move(outgoing));
}

bool FtarStream::may_write() const {
  return !queue_.empty() &&
         (queue_.front().not_before_s == 0 || queue_.front().not_before_s <= kernels::steady_now_s());
}

// A peer that ends has said why before, perhaps: what it sent is read first.
bool FtarStream::flush() try {
  bool has_moved = false;
  while (write_alive() && may_write()) {
    Outgoing& first = queue_.front();
    const std::span<const std::byte> head(reinterpret_cast<const std::byte*>(&first.message),
                                          sizeof first.message);
    const std::size_t of_head = std::min(written_, head.size());
    const std::size_t count =
        stream_.write_some(head.subspan(of_head), first.payload.subspan(written_ - of_head));
    if (count == 0) break;
    has_moved = true;
    written_ += count;
    if (written_ < head.size() + first.payload.size()) continue;
    if (first.packed) spare_.push_back(std::move(first.packed));
    queue_.pop_front();
    written_ = 0;
  }
  return has_moved;
} catch (const kernels::Error& error) {
  if (error.scope() != kernels::Scope::link) throw;
  queue_.clear();
  wants_alive_ = false;
  alive_written_ = 0;
  is_deaf_ = true;
  return true;
}

// Whether other messages may follow.
bool FtarStream::write_alive() {
  if (!is_alive_due()) return true;
  static const FtarMessage alive{.kind = FtarMessage::Kind::alive};
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(&alive), sizeof alive);
  alive_written_ += stream_.write_some(bytes.subspan(alive_written_), {});
  if (alive_written_ < bytes.size()) return false;
  alive_written_ = 0;
  wants_alive_ = false;
  return true;
}

std::size_t FtarStream::read(std::span<std::byte> memory) {
  const std::size_t count = stream_.read_some(memory);
  if (count > 0) note_heard();
  return count;
}

void FtarStream::take_payload(std::size_t bytes) {
  stream_.take(bytes);
  note_heard();
}

void FtarStream::note_heard() {
  heard_s_ = kernels::steady_now_s();
  has_heard_ = true;
}

void FtarStream::end_with(const FtarMessage& message) {
  post(message);
  flush();
  stream_.finish();
  connection_->shut_down();
}

std::unique_ptr<kernels::Buffer> FtarStream::spare_buffer() {
  if (spare_.empty()) return nullptr;
  std::unique_ptr<kernels::Buffer> buffer = std::move(spare_.back());
  spare_.pop_back();
  return buffer;
}

std::optional<FtarMessage> FtarStream::receive() {
  auto* const bytes = reinterpret_cast<std::byte*>(&incoming_);
  incoming_bytes_ += read({bytes + incoming_bytes_, sizeof incoming_ - incoming_bytes_});
  if (incoming_bytes_ < sizeof incoming_) return std::nullopt;
  incoming_bytes_ = 0;
  return incoming_;
}

std::optional<double> FtarStream::waits_until_s() const {
  if (queue_.empty()) return std::nullopt;
  const double until_s = std::max(queue_.front().not_before_s, stream_.held_until_s());
  return until_s > kernels::steady_now_s() ? std::optional(until_s) : std::nullopt;
}

}  // namespace tenax::comm
