#include "tests/resilience/membership/world_action.hpp"

namespace tenax::resilience {

std::string to_string(WorldAction action) {
  constexpr const char* kNames[] = {"to_service",
                                    "to_member",
                                    "connect",
                                    "begin",
                                    "enter",
                                    "fetch",
                                    "complete",
                                    "abort",
                                    "restore",
                                    "save",
                                    "save_between",
                                    "exit",
                                    "restart_service",
                                    "restart",
                                    "tick",
                                    "wake",
                                    "crash",
                                    "stop",
                                    "cut",
                                    "silence",
                                    "fail_exchange",
                                    "crash_service",
                                    "crash_service_host",
                                    "wish_stop",
                                    "wish_leave",
                                    "give_up"};
  return std::string(" ") + kNames[static_cast<int>(action.kind)] + " " + std::to_string(action.process);
}

}  // namespace tenax::resilience
