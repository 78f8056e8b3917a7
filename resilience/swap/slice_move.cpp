#include "resilience/swap/slice_move.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <thread>

#include "kernels/error.hpp"

namespace tenax::resilience {

namespace {

const comm::Peer& peer(const MoveRoads& roads, int rank) {
  return roads.peers[static_cast<std::size_t>(rank)];
}

// Two ranks that change places with each other have a connection each way.
std::string purpose(const PlaceChange& change, int destination) {
  return "swap." + std::to_string(change.generation) + "." + std::to_string(destination);
}

void copy(const StateSlices& from, const StateSlices& to) {
  assert(from.bytes() == to.bytes());
  std::vector<std::byte> memory(std::min(from.bytes(), StateSlices::kSliceBytes));
  for (int slice = 0; slice < from.count(); ++slice) {
    const auto bytes = std::span(memory).first(from.bytes_of(slice));
    from.read(slice, bytes);
    to.write(slice, bytes);
  }
}

}  // namespace

// A slice is asked for by the generation: one of an older move is refused.
SliceMove::SliceMove(const PlaceChange& change, const StateSlices& from, const StateSlices& to,
                     const MoveRoads& roads)
    : change_(change), server_(from, roads.transport, nobody_, roads.deadline_s) {
  if (!change.moves()) {
    copy(from, to);
    return;
  }
  server_.open(change.generation);
  server_.serve(peer(roads, change.destination), purpose(change, change.destination));
  fetch_.emplace(to, roads.transport, std::vector<comm::Peer>{peer(roads, change.source)}, nobody_,
                 StateFetch::Options{.done = change.generation,
                                     .purpose = purpose(change, change.rank),
                                     .deadline_s = roads.deadline_s});
}

bool SliceMove::goes_on(double seconds) {
  const auto until = kernels::Deadline::after_s(seconds);
  while (fetch_ && !fetch_->is_complete()) {
    if (fetch_->has_failed())
      throw kernels::Error(kernels::Scope::link, "a swap of ranks: the state of rank " +
                                                     std::to_string(change_.source) +
                                                     " did not come to rank " + std::to_string(change_.rank));
    if (until.expired()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace tenax::resilience
