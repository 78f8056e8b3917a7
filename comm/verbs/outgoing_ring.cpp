#include "comm/verbs/outgoing_ring.hpp"

#include <infiniband/verbs.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "kernels/error.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr int kCreditReceives =
    16;  // credits come by the quarter ring and the quarter of its frames: 8 at most; and an answer
constexpr double kRest_s = 60;  // from one look to the next while nothing is sent

}  // namespace

OutgoingRing::OutgoingRing(const Port& port, RingSize size, MemoryTable& memory, PeerSocket& peer,
                           BreakNote& note, double silence_s)
    : table_(memory),
      peer_(peer),
      size_(size),
      answers_(port.device, kAnswerPage, RegisteredMemory::Access::remote_write),
      staging_(port.device, size.bytes, RegisteredMemory::Access::local),
      queue_pair_(port, {size.frames(), kCreditReceives}),
      wait_(queue_pair_, peer, note, silence_s),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      silence_s_(silence_s) {
  if (!wake_) throw_link_error(peer.where(), "no eventfd", errno);
}

RemoteMemory OutgoingRing::answers() const {
  return {reinterpret_cast<std::uint64_t>(answers_.memory().data()), answers_.registration().remote_key()};
}

void OutgoingRing::send(const MessageHeader& header, std::span<const std::byte> payload,
                        kernels::Deadline deadline) {
  assert(header.payload_bytes == payload.size());
  const std::lock_guard lock(mutex_);
  or_break([&] {
    const std::optional<MemoryTable::Use> use = table_.find(queue_pair_.device(), payload);
    const HeaderBytes head = encode(header);
    if (use && is_offered(payload.size()))
      send_as_answered(head, payload, use, deadline);
    else
      send_frames(head, payload, use, deadline);
    if (use && !wait_for_all(deadline))
      throw_link_error(peer_.where(), "the other end acknowledged nothing more before the deadline");
    if (use) uncopied_bytes_ += payload.size();
    leave_to_watch();
    if (watch_rests_ && !under_way_.empty()) wake_watch();
  });
}

template <class Work>
std::invoke_result_t<Work> OutgoingRing::or_break(Work work) {
  if (is_broken_) throw_link_error(peer_.where(), "an earlier send has broken the connection");
  try {
    return work();
  } catch (...) {
    give_up();
    throw;
  }
}

void OutgoingRing::give_up() noexcept {
  is_broken_ = true;
  queue_pair_.break_off();
  queue_pair_.drain();
  under_way_.clear();
}

std::size_t OutgoingRing::write_some(std::span<const std::byte> head, std::span<const std::byte> tail) {
  check_known();
  return or_break([&] {
    std::size_t written = 0;
    while (written < head.size() + tail.size() && room() > 0) {
      const std::size_t of_head = std::min(written, head.size());
      written += post_piece(head.subspan(of_head), tail.subspan(written - of_head));
    }
    return written;
  });
}

/// A frame with as much as goes into one; there is room. Registered memory is in use until it is acknowledged.
std::size_t OutgoingRing::post_piece(std::span<const std::byte> head, std::span<const std::byte> tail) {
  head = head.first(std::min(head.size(), room()));
  tail = tail.first(std::min({tail.size(), room() - head.size(), kMostPiece}));
  std::optional<MemoryTable::Use> use = tail.empty() ? std::nullopt : table_.find(queue_pair_.device(), tail);
  post(head, tail, use, false);
  if (use) under_way_.back().use.emplace(std::move(*use));
  return head.size() + tail.size();
}

void OutgoingRing::check_known() {
  or_break([this] {
    take_completions();
    wait_.check_known();
  });
}

bool OutgoingRing::may_sleep(bool wants_room) {
  if (is_broken_) return false;
  queue_pair_.consume_events();
  if (wants_room)
    queue_pair_.arm();
  else
    queue_pair_.arm_for_failures();
  take_completions();
  return !queue_pair_.fault() && !(wants_room && room() > 0);
}

/// Failures of what is still under way wake the receiving thread; older events do not.
void OutgoingRing::leave_to_watch() {
  queue_pair_.consume_events();
  take_completions();
  if (!under_way_.empty()) {
    queue_pair_.arm_for_failures();
    take_completions();
  }
  if (queue_pair_.fault()) wait_.check();
}

void OutgoingRing::wake_watch() {
  watch_rests_ = false;
  eventfd_write(wake_.get(), 1);
}

kernels::Deadline OutgoingRing::look() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  is_watched_ = lock.owns_lock();
  if (!is_watched_) return kernels::Deadline::after_s(silence_s_);
  eventfd_t wakes = 0;
  if (!watch_rests_) eventfd_read(wake_.get(), &wakes);
  leave_to_watch();
  wait_.check_progress();
  watch_rests_ = under_way_.empty() && std::exchange(frames_looked_at_, frames_sent_) == frames_sent_;
  return watch_rests_ ? kernels::Deadline::after_s(kRest_s)
                      : wait_.next_look(kernels::Deadline::after_s(2 * silence_s_));
}

std::array<int, 2> OutgoingRing::channels() const {
  return is_watched_ ? std::array{queue_pair_.channel(), wake_.get()} : std::array{-1, -1};
}

/// What the other end has told counts from the next message on, also where no send has waited since.
bool OutgoingRing::is_offered(std::size_t bytes) {
  peer_.look();
  const std::uint64_t least = least_offered_;
  return least > 0 && bytes >= least;
}

/// The other end says where it receives the payload when it does.
void OutgoingRing::send_as_answered(std::span<const std::byte> head, std::span<const std::byte> payload,
                                    const std::optional<MemoryTable::Use>& use, kernels::Deadline deadline) {
  wait_for_room(deadline);
  is_asking_ = true;
  post(head, {}, use, true);
  const OfferedMemory there = wait_for_answer(payload.size(), deadline);
  if (there.bytes > 0)
    write_there(there, payload, *use, deadline);
  else
    send_frames({}, payload, use, deadline);
}

OfferedMemory OutgoingRing::wait_for_answer(std::size_t bytes, kernels::Deadline deadline) {
  const auto is_answered = [this] {
    take_completions();
    return !is_asking_;
  };
  if (!wait_.until(is_answered, deadline))
    throw_link_error(peer_.where(), "the other end did not take the message before the deadline");
  if (answer_.bytes != 0 && answer_.bytes != bytes)
    wait_.fail(BreakReason::own_fault, "the other end offers other memory than was asked for");
  return answer_;
}

/// Nothing else lies at its place in the ring: frames are counted alone.
void OutgoingRing::write_there(OfferedMemory there, std::span<const std::byte> payload,
                               const MemoryTable::Use& use, kernels::Deadline deadline) {
  while (!payload.empty()) {
    wait_for_room(deadline);
    const auto bytes = static_cast<std::uint32_t>(std::min(payload.size(), kMostPiece));
    const ibv_sge part{reinterpret_cast<std::uint64_t>(payload.data()), bytes, use.local_key()};
    post_frame({&part, 1}, {there.address, there.key}, {.bytes = bytes, .is_offered = true}, false);
    there.address += bytes;
    payload = payload.subspan(bytes);
  }
}

void OutgoingRing::send_frames(std::span<const std::byte> head, std::span<const std::byte> payload,
                               const std::optional<MemoryTable::Use>& use, kernels::Deadline deadline) {
  do {
    const std::size_t room = wait_for_room(deadline);
    const std::size_t count = std::min({payload.size(), room - head.size(), kMostPiece});
    post(head, payload.first(count), use, !head.empty());
    payload = payload.subspan(count);
    head = {};
  } while (!payload.empty());
}

/// The head is always copied; it is as long as the least room there is.
void OutgoingRing::post(std::span<const std::byte> head, std::span<const std::byte> piece,
                        const std::optional<MemoryTable::Use>& use, bool begins_message) {
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
  position_ += room_of(bytes);
  post_frame(std::span(parts).first(count), {ring_.address + place, ring_.key},
             {static_cast<std::uint32_t>(bytes), begins_message, is_asking_}, !use || piece.empty());
}

// What is not staged may lie in a GPU's memory, of which the last bytes before the ring's end make a short frame, too.
void OutgoingRing::post_frame(std::span<const ibv_sge> parts, RemoteMemory to, FrameMark mark,
                              bool is_staged) {
  if (queue_pair_.sends_under_way() == 0) wait_.note_progress();
  under_way_.push_back({position_});
  ++frames_sent_;
  queue_pair_.post_write(parts, to, mark.value(), is_staged);
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
  const auto frames = static_cast<std::uint64_t>(size_.frames());
  if (frames_sent_ - frames_taken_ >= frames || under_way_.size() >= frames) return 0;
  const std::uint64_t free = size_.bytes - (position_ - std::min(taken_, acknowledged_));
  return std::min<std::size_t>(free, size_.bytes - position_ % size_.bytes);
}

void OutgoingRing::take_completions() {
  while (const std::optional<Completion> done = queue_pair_.next()) {
    wait_.note_progress();
    if (!done->is_receive) {
      acknowledged_ = under_way_.front().end;
      under_way_.pop_front();
      continue;
    }
    if (done->immediate == kAnswer)
      take_answer(done->bytes);
    else
      take_credit(Credit::of(done->immediate));
    queue_pair_.post_receive();
  }
}

void OutgoingRing::take_credit(Credit credit) {
  taken_ += std::uint64_t{credit.units} * kUnit;
  frames_taken_ += credit.frames;
  if (taken_ > position_ || frames_taken_ > frames_sent_)
    wait_.fail(BreakReason::own_fault, "the other end has taken more than was sent");
}

void OutgoingRing::take_answer(std::uint32_t bytes) {
  if (!is_asking_ || bytes != sizeof answer_)
    wait_.fail(BreakReason::own_fault, "the other end answers what was not asked");
  std::memcpy(&answer_, answers_.memory().data(), sizeof answer_);
  is_asking_ = false;
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
