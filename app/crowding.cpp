// The text: "HOST COUNT CORE CORE …", COUNT what control groups leave of the cores that follow; none follow where they are too
// many for a set.
#include "app/crowding.hpp"

#include <sched.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "kernels/device.hpp"

namespace tenax::app {

std::string cores_text(const std::string& host) {
  std::string text = host + " " + std::to_string(kernels::usable_cores());
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return text;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &cores)) text += " " + std::to_string(core);
  return text;
}

Crowding crowding_of(const std::vector<std::string>& texts) {
  struct Host {
    int ranks = 0, most = 0;  ///< most: cores that all ranks share
    bool is_limited = false;
    std::set<int> cores;
  };
  std::map<std::string, Host> hosts;
  for (const std::string& text : texts) {
    std::istringstream words(text);
    std::string name;
    int usable = 0, own = 0;
    words >> name >> usable;
    Host& host = hosts[name];
    for (int core = 0; words >> core; ++own) host.cores.insert(core);
    ++host.ranks;
    host.most = std::max(host.most, usable);
    host.is_limited = host.is_limited || usable != own;
  }
  Crowding worst;
  for (const auto& [name, host] : hosts) {
    const int bound = static_cast<int>(host.cores.size());
    const int cores = std::max(1, host.is_limited ? host.most : bound);
    if (host.ranks * worst.cores > worst.ranks * cores) worst = {host.ranks, cores};
  }
  return worst;
}

}  // namespace tenax::app
