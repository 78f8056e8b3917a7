// Who can be reached in shared memory.
#pragma once

#include <string>

namespace tenax::comm {

inline bool is_shared_memory_address(const std::string& address) { return address.rfind("shm:", 0) == 0; }
/// Whether the process of that address is on this host: tried, not guessed from names of hosts.
bool is_reachable_in_shared_memory(const std::string& address);

}  // namespace tenax::comm
