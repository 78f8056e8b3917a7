// SimulatedEvent: what can happen next in a simulated run.
#pragma once

#include "app/simulation/event_queue.hpp"

namespace tenax::app {

enum class SimulatedEvent {
  passes_end,  ///< of a replica, as its token says
  step_ready,  ///< members wait no longer for the one that fetches its state; token: its passes
  fetched,     ///< a replica has the state; token: its passes
  answer,      ///< of a member, to a change of the epoch, reaches the service; subject: which answer
  failure,     ///< of a place
  repaired,    ///< a place
  closed,      ///< the service sees a replica's link closed; token: its link
  start,       ///< a replica checks in; token: its place
  slow_begin,  ///< of a replica
  slow_end,    ///< of a replica; token: which episode
  beat         ///< all that live give a sign of life
};
using SimulatedQueue = EventQueue<SimulatedEvent>;

}  // namespace tenax::app
