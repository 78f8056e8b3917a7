// PlaceOpener: the thread that gets a link's ends memory that both see, where they can.
#pragma once

#include <thread>

#include "comm/buffers/meeting_places.hpp"
#include "comm/delegates/reconnector.hpp"

namespace tenax::comm {

/// From construction to destruction. It makes a connection to the peer in shared memory, for that memory alone. Where the peer
/// has no such address, or none that answers within the deadline, the places stay closed.
class PlaceOpener {
 public:
  /// `places` must outlive it.
  PlaceOpener(const LinkParties& parties, MeetingPlaces& places);
  ~PlaceOpener();
  PlaceOpener(const PlaceOpener&) = delete;
  PlaceOpener& operator=(const PlaceOpener&) = delete;

 private:
  void run();

  const LinkParties parties_;
  MeetingPlaces& places_;
  Reconnector reconnector_;
  std::thread thread_;
};

}  // namespace tenax::comm
