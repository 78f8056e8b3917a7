#include "resilience/swap/slice_move.hpp"

#include <algorithm>
#include <string>

#include "comm/transport/connection_attempt.hpp"
#include "comm/worker.hpp"
#include "io/checksum.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

// The rank that receives connects. Its purpose names the generation, so nothing of an older move comes.
//
//   slice: kind = kSlice, number = which, from 0; sequence = io's checksum of its bytes, which follow
//
// Both ends cut the same ranges of the same place into slices. The connection ends with the move.

using kernels::Deadline;

namespace {

constexpr std::int32_t kSlice = 1;

const comm::Peer& peer(const MoveRoads& roads, int rank) {
  return roads.peers[static_cast<std::size_t>(rank)];
}

// Two ranks that change places with each other have a connection each way.
std::string purpose(const PlaceChange& change, int destination) {
  return "swap." + std::to_string(change.generation) + "." + std::to_string(destination);
}

[[noreturn]] void refuse_slice() {
  throw kernels::Error(kernels::Scope::link, "a swap of ranks: a slice came late, damaged or out of turn");
}

}  // namespace

SliceMove::SliceMove(const PlaceChange& change, const Ranges& from, const Ranges& to, const MoveRoads& roads)
    : change_(change) {
  if (!change.moves()) return;
  progress_ = Progress::under_way;
  sender_ = comm::start_prompt_thread([this, roads, slices = slices_of(from)] { send(slices, roads); });
  try {
    receiver_ = comm::start_prompt_thread([this, roads, slices = slices_of(to)] { receive(slices, roads); });
  } catch (...) {
    end_threads();
    throw;
  }
}

SliceMove::~SliceMove() { end_threads(); }

void SliceMove::end_threads() noexcept {
  stopping_ = true;
  {
    const std::lock_guard lock(mutex_);
    for (const auto* connection : {&outgoing_, &incoming_})
      if (*connection) (*connection)->shut_down();
  }
  for (std::thread* thread : {&sender_, &receiver_})
    if (thread->joinable()) thread->join();
}

SliceMove::Slices SliceMove::slices_of(const Ranges& ranges) {
  Slices slices;
  for (const io::StateRange& range : ranges)
    for (const io::StatePart& part : range.parts) {
      auto rest = std::as_writable_bytes(std::span(part.data, static_cast<std::size_t>(range.count)));
      while (!rest.empty()) {
        slices.push_back(rest.first(std::min(rest.size(), kSliceBytes)));
        rest = rest.subspan(slices.back().size());
      }
    }
  return slices;
}

comm::Connection& SliceMove::keep(std::unique_ptr<comm::Connection>& place,
                                  std::unique_ptr<comm::Connection> made) {
  const std::lock_guard lock(mutex_);
  place = std::move(made);
  if (stopping_) place->shut_down();
  return *place;
}

void SliceMove::end(Progress progress) {
  const std::lock_guard lock(mutex_);
  progress_ = progress;
  ended_.notify_all();
}

// What goes wrong here, the rank at the other end tells of.
void SliceMove::send(const Slices& slices, const MoveRoads& roads) try {
  comm::ConnectionAttempt attempt(roads.transport, peer(roads, change_.destination),
                                  purpose(change_, change_.destination), stopping_,
                                  Deadline::after_s(roads.deadline_s));
  comm::Connection& connection = keep(outgoing_, attempt.accept());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const std::span<const std::byte> bytes = slices[i];
    connection.send({.kind = kSlice,
                     .number = i,
                     .sequence = io::checksum_of_bytes(bytes, 0),
                     .bytes = bytes.size(),
                     .payload_bytes = bytes.size()},
                    bytes, Deadline::after_s(roads.deadline_s));
  }
} catch (const kernels::Error&) {
  const std::lock_guard lock(mutex_);
  if (outgoing_) outgoing_->shut_down();
}

void SliceMove::receive(const Slices& slices, const MoveRoads& roads) try {
  comm::ConnectionAttempt attempt(roads.transport, peer(roads, change_.source),
                                  purpose(change_, change_.rank), stopping_,
                                  Deadline::after_s(roads.deadline_s));
  comm::Connection& connection = keep(incoming_, attempt.connect());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Deadline deadline = Deadline::after_s(roads.deadline_s);
    const auto header = connection.receive(deadline);
    const std::span<std::byte> bytes = slices[i];
    const bool is_it =
        header && header->kind == kSlice && header->number == i && header->payload_bytes == bytes.size();
    if (!is_it) refuse_slice();
    connection.receive_payload(bytes, deadline);
    if (io::checksum_of_bytes(bytes, 0) != header->sequence) refuse_slice();
    bytes_ += bytes.size();
  }
  end(Progress::complete);
} catch (const kernels::Error&) {
  end(Progress::failed);
}

bool SliceMove::goes_on(double seconds) {
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, std::chrono::duration<double>(seconds),
                  [this] { return progress_ != Progress::under_way; });
  if (progress_ == Progress::failed)
    throw kernels::Error(kernels::Scope::link, "a swap of ranks: the state of rank " +
                                                   std::to_string(change_.source) + " did not come to rank " +
                                                   std::to_string(change_.rank));
  return progress_ == Progress::under_way;
}

}  // namespace tenax::resilience
