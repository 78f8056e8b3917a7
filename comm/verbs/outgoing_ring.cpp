#include "comm/verbs/outgoing_ring.hpp"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernels/error.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr int kCreditReceives =
    16;  // credits come by the quarter ring and the quarter of its frames: 8 at most

}  // namespace

OutgoingRing::OutgoingRing(const Port& port, RingSize size, MemoryTable& memory, PeerSocket& peer,
                           BreakNote& note, double silence_s)
    : table_(memory),
      peer_(peer),
      size_(size),
      staging_(port.device, size.bytes, RegisteredMemory::Access::local),
      queue_pair_(port, {size.frames(), kCreditReceives}),
      wait_(queue_pair_, peer, note, silence_s),
      silence_s_(silence_s) {}

void OutgoingRing::send(const MessageHeader& header, std::span<const std::byte> payload,
                        kernels::Deadline deadline) {
  assert(header.payload_bytes == payload.size());
  const std::lock_guard lock(mutex_);
  if (is_broken_) throw_link_error(peer_.where(), "an earlier send has broken the connection");
  try {
    const std::optional<MemoryTable::Use> use = table_.find(queue_pair_.device(), payload);
    send_frames(header, payload, use, deadline);
    if (use && !wait_for_all(deadline))
      throw_link_error(peer_.where(), "the other end acknowledged nothing more before the deadline");
    leave_to_watch();
  } catch (...) {
    is_broken_ = true;
    queue_pair_.break_off();
    queue_pair_.drain();
    throw;
  }
}

/// Failures of what is still under way wake the receiving thread; older events do not.
void OutgoingRing::leave_to_watch() {
  queue_pair_.consume_events();
  if (!under_way_.empty()) queue_pair_.arm_for_failures();
  take_completions();
  if (queue_pair_.fault()) wait_.check();
}

kernels::Deadline OutgoingRing::look() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  is_watched_ = lock.owns_lock();
  if (!is_watched_) return kernels::Deadline::after_s(silence_s_);
  leave_to_watch();
  wait_.check_progress();
  return wait_.next_look(kernels::Deadline::after_s(2 * silence_s_));
}

void OutgoingRing::send_frames(const MessageHeader& header, std::span<const std::byte> payload,
                               const std::optional<MemoryTable::Use>& use, kernels::Deadline deadline) {
  const HeaderBytes bytes = encode(header);
  std::span<const std::byte> head = bytes;
  do {
    const std::size_t room = wait_for_room(deadline);
    const std::size_t count = std::min({payload.size(), room - head.size(), kMostPiece});
    post(head, payload.first(count), use);
    payload = payload.subspan(count);
    head = {};
  } while (!payload.empty());
}

/// The head is always copied; it is as long as the least room there is.
void OutgoingRing::post(std::span<const std::byte> head, std::span<const std::byte> piece,
                        const std::optional<MemoryTable::Use>& use) {
  const std::size_t place = position_ % size_.bytes, bytes = head.size() + piece.size();
  std::byte* const staged = staging_.memory().data() + place;
  std::copy(head.begin(), head.end(), staged);
  if (!use) std::copy(piece.begin(), piece.end(), staged + head.size());
  const std::uint32_t key = staging_.registration().local_key();
  std::array<ibv_sge, 2> parts{};
  std::size_t count = 0;
  if (const std::size_t copied = use ? head.size() : bytes; copied > 0)
    parts[count++] = {reinterpret_cast<std::uint64_t>(staged), static_cast<std::uint32_t>(copied), key};
  if (use && !piece.empty())
    parts[count++] = {reinterpret_cast<std::uint64_t>(piece.data()), static_cast<std::uint32_t>(piece.size()),
                      use->local_key()};
  if (queue_pair_.sends_under_way() == 0) wait_.note_progress();
  position_ += room_of(bytes);
  under_way_.push_back(position_);
  ++frames_sent_;
  queue_pair_.post_write(std::span(parts).first(count), {ring_.address + place, ring_.key},
                         FrameMark{static_cast<std::uint32_t>(bytes), !head.empty()}.value());
}

std::size_t OutgoingRing::wait_for_room(kernels::Deadline deadline) {
  const auto has_room = [this] {
    take_completions();
    return !queue_pair_.fault() && !peer_.is_shut_down() && room() > 0;
  };
  if (!wait_.until(has_room, deadline))
    throw_link_error(peer_.where(), "the other end took nothing more before the deadline");
  return room();
}

/// Bytes that can be written in one piece: a multiple of kUnit.
std::size_t OutgoingRing::room() const {
  if (frames_sent_ - frames_taken_ >= static_cast<std::uint64_t>(size_.frames())) return 0;
  const std::uint64_t free = size_.bytes - (position_ - std::min(taken_, acknowledged_));
  return std::min<std::size_t>(free, size_.bytes - position_ % size_.bytes);
}

void OutgoingRing::take_completions() {
  while (const std::optional<Completion> done = queue_pair_.next()) {
    wait_.note_progress();
    if (!done->is_receive) {
      acknowledged_ = under_way_.front();
      under_way_.pop_front();
      continue;
    }
    const Credit credit = Credit::of(done->immediate);
    taken_ += std::uint64_t{credit.units} * kUnit;
    frames_taken_ += credit.frames;
    if (taken_ > position_ || frames_taken_ > frames_sent_)
      wait_.fail(BreakReason::own_fault, "the other end has taken more than was sent");
    queue_pair_.post_receive();
  }
}

bool OutgoingRing::finish(kernels::Deadline deadline) {
  const std::lock_guard lock(mutex_);
  return wait_for_all(deadline);
}

bool OutgoingRing::wait_for_all(kernels::Deadline deadline) {
  const auto is_all_there = [this] {
    take_completions();
    return under_way_.empty();
  };
  return wait_.until(is_all_there, deadline);
}

bool OutgoingRing::finish_quietly(kernels::Deadline deadline) noexcept try {
  return !is_broken_ && finish(deadline);
} catch (const kernels::Error&) {
  return false;
}

}  // namespace tenax::comm::verbs
