#include "comm/verbs/incoming_ring.hpp"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/poll.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr int kCredits = 16;      // under way
constexpr int kAnswers = 2;       // the same; the earlier one has been read
constexpr double kGoodbye_s = 2;  // from a goodbye to the last of its frames

}  // namespace

IncomingRing::IncomingRing(const Port& port, RingSize size, MemoryTable& memory, PeerSocket& peer,
                           BreakNote& note, RingWatch& watch, double silence_s)
    : table_(memory),
      peer_(peer),
      watch_(watch),
      size_(size),
      ring_(port.device, size.bytes, RegisteredMemory::Access::remote_write),
      answer_(port.device, kAnswerPage, RegisteredMemory::Access::local),
      queue_pair_(port, {kCredits + kAnswers, size.frames()}),
      wait_(queue_pair_, peer, note, silence_s) {}

RemoteMemory IncomingRing::ring() const {
  return {reinterpret_cast<std::uint64_t>(ring_.memory().data()), ring_.registration().remote_key()};
}

std::optional<MessageHeader> IncomingRing::receive(kernels::Deadline deadline) {
  if (!wait_for_frame(deadline)) return std::nullopt;
  const Frame frame = frames_.front();
  if (!frame.mark.begins_message || read_ != 0) refuse_frame();
  const auto header = decode(ring_.memory().subspan(frame.place).first<kHeaderBytes>());
  if (!header) refuse_frame();
  if (frame.mark.is_offered && (header->payload_bytes == 0 || frame.mark.bytes != kHeaderBytes))
    refuse_frame();
  asked_bytes_ = frame.mark.is_offered ? header->payload_bytes : 0;
  take_out(kHeaderBytes);
  return header;
}

void IncomingRing::receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) {
  if (asked_bytes_ > 0 && !payload.empty() && receive_offered(payload, deadline)) return;
  while (!payload.empty()) {
    const Frame& frame = frame_of_payload(deadline);
    if (frame.mark.is_offered && !frame.mark.begins_message) refuse_frame();
    const std::size_t count = std::min(payload.size(), frame.mark.bytes - read_);
    const auto from = ring_.memory().subspan(frame.place + read_, count);
    std::copy(from.begin(), from.end(), payload.begin());
    payload = payload.subspan(count);
    take_out(count);
  }
}

/// False: the payload comes through the ring. A payload that is asked for in parts does.
bool IncomingRing::receive_offered(std::span<std::byte> payload, kernels::Deadline deadline) {
  const bool is_whole = std::exchange(asked_bytes_, 0) == payload.size();
  const auto use = is_whole
                       ? table_.find(queue_pair_.device(), payload, RegisteredMemory::Access::remote_write)
                       : std::nullopt;
  if (!use) {
    answer({});
    return false;
  }
  try {
    answer({reinterpret_cast<std::uint64_t>(payload.data()), payload.size(), use->remote_key()});
    wait_for_offered(payload.size(), deadline);
  } catch (...) {
    queue_pair_.end();  // what is still on its way lands nowhere
    throw;
  }
  uncopied_bytes_ += payload.size();
  return true;
}

void IncomingRing::answer(const OfferedMemory& offered) {
  std::memcpy(answer_.memory().data(), &offered, sizeof offered);
  const ibv_sge part{reinterpret_cast<std::uint64_t>(answer_.memory().data()), sizeof offered,
                     answer_.registration().local_key()};
  if (queue_pair_.sends_under_way() == 0) wait_.note_progress();
  queue_pair_.post_write({&part, 1}, answers_, kAnswer);
}

void IncomingRing::wait_for_offered(std::size_t bytes, kernels::Deadline deadline) {
  while (bytes > 0) {
    const FrameMark mark = frame_of_payload(deadline).mark;
    if (!mark.is_offered || mark.bytes > bytes) refuse_frame();
    bytes -= mark.bytes;
    release_frame();
  }
}

/// Not one that begins another message.
const IncomingRing::Frame& IncomingRing::frame_of_payload(kernels::Deadline deadline) {
  if (!wait_for_frame(deadline))
    throw_link_error(peer_.where(), "a message stopped half-way and did not go on before the deadline");
  if (frames_.front().mark.begins_message && read_ == 0) refuse_frame();
  return frames_.front();
}

bool IncomingRing::wait_for_frame(kernels::Deadline deadline) {
  if (!frames_.empty()) return true;
  const auto has_come_or_ends = [this] {
    take_completions();
    return !frames_.empty() || peer_.has_said_goodbye() || peer_.is_shut_down();
  };
  if (!wait_.until(has_come_or_ends, deadline, &watch_)) return false;
  if (frames_.empty()) wait_for_last_frames();
  return true;
}

/// What a goodbye promises has been written, and is told of at any moment.
void IncomingRing::wait_for_last_frames() {
  const auto has_come_or_ended = [this] {
    take_completions();
    return !frames_.empty() || peer_.is_shut_down() || frames_come_ >= peer_.goodbye_frames();
  };
  poll_until(has_come_or_ended, kernels::Deadline::after_s(kGoodbye_s));
  if (frames_.empty()) wait_.check();
}

std::span<const std::byte> IncomingRing::peek() {
  if (frames_.empty()) take_completions();
  if (frames_.empty()) return {};
  const Frame& frame = frames_.front();
  if (frame.mark.begins_message || frame.mark.is_offered) refuse_frame();
  return ring_.memory().subspan(frame.place + read_, frame.mark.bytes - read_);
}

/// Frames that a goodbye promises are told of at any moment.
void IncomingRing::check_known() {
  if (!peer_.has_said_goodbye() || frames_come_ >= peer_.goodbye_frames()) wait_.check_known();
}

bool IncomingRing::may_sleep() {
  queue_pair_.consume_events();
  queue_pair_.arm();
  take_completions();
  return frames_.empty() && !queue_pair_.fault();
}

void IncomingRing::take_completions() {
  while (const std::optional<Completion> done = queue_pair_.next()) {
    wait_.note_progress();
    if (done->is_receive) add_frame(FrameMark::of(done->immediate), done->bytes);
  }
  return_credit();
}

/// Where it lies follows from those before it.
void IncomingRing::add_frame(FrameMark mark, std::uint32_t written) {
  const bool is_in_ring = mark.begins_message || !mark.is_offered;
  const Frame frame{position_ % size_.bytes, is_in_ring ? room_of(mark.bytes) : 0, mark};
  const std::size_t least = mark.begins_message ? kHeaderBytes : 1;
  const bool is_possible = mark.bytes == written && mark.bytes >= least &&
                           frame.place + frame.room <= size_.bytes && frame.room <= size_.bytes - occupied_;
  if (!is_possible) refuse_frame();
  frames_.push_back(frame);
  position_ += frame.room;
  occupied_ += frame.room;
  ++frames_come_;
}

void IncomingRing::take_out(std::size_t bytes) {
  read_ += bytes;
  if (read_ == frames_.front().mark.bytes) release_frame();
}

void IncomingRing::release_frame() {
  const std::size_t room = frames_.front().room;
  frames_.pop_front();
  read_ = 0;
  occupied_ -= room;
  credit_.units += static_cast<std::uint32_t>(room / kUnit);
  ++credit_.frames;
  queue_pair_.post_receive();
  return_credit();
}

/// By the quarter ring; more where earlier ones are still under way.
void IncomingRing::return_credit() {
  const bool is_due = credit_.units * kUnit >= size_.bytes / 4 ||
                      credit_.frames >= static_cast<std::uint32_t>(size_.frames()) / 4;
  if (!is_due || queue_pair_.sends_under_way() >= kCredits || queue_pair_.fault()) return;
  if (queue_pair_.sends_under_way() == 0) wait_.note_progress();
  queue_pair_.post_immediate(credit_.value());
  credit_ = {};
}

void IncomingRing::refuse_frame() {
  wait_.fail(BreakReason::own_fault, "what the other end has written is no message");
}

}  // namespace tenax::comm::verbs
