// WorldAction: one thing that happens next in a MembershipWorld.
#pragma once

#include <cstddef>
#include <string>

namespace tenax::resilience {

struct WorldAction {
  enum class Kind {
    // What goes on by itself.
    to_service,
    to_member,  // the next message, or the end, of a link arrives
    connect,
    begin,
    enter,
    fetch,
    complete,
    abort,
    restore,
    save,
    save_between,
    exit,  // a replica does the next thing
    restart_service,
    restart,
    tick,
    wake,
    // Faults.
    crash,
    stop,
    cut,
    silence,
    fail_exchange,
    crash_service,
    crash_service_host,
    wish_stop,
    wish_leave,
    give_up
  };

  Kind kind = Kind::tick;
  std::size_t process = 0;
};
/// " crash 2"
std::string to_string(WorldAction action);

}  // namespace tenax::resilience
