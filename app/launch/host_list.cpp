#include "app/launch/host_list.hpp"

#include <algorithm>
#include <charconv>

#include "app/units.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

using kernels::Error;
using kernels::Scope;

namespace {

HostSlots parse_host(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  HostSlots host{text.substr(0, colon), 1};
  bool is_sound = !host.host.empty();
  if (colon != std::string::npos) {
    const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
    const auto read = std::from_chars(begin, end, host.slots);
    is_sound = is_sound && read.ec == std::errc{} && read.ptr == end && host.slots >= 1;
  }
  if (!is_sound)
    throw Error(Scope::usage, "replicas.hosts: \"" + text + "\" is neither \"NAME\" nor \"NAME:SLOTS\"");
  return host;
}

}  // namespace

std::vector<HostSlots> parse_hosts(const std::vector<std::string>& hosts) {
  std::vector<HostSlots> slots;
  for (const std::string& host : hosts) slots.push_back(parse_host(host));
  return slots;
}

HostShare share_hosts(const std::vector<HostSlots>& hosts, int replicas, int ranks) {
  HostShare share{.replicas = {}, .spares = hosts};
  auto next = share.spares.begin();
  for (int replica = 0; replica < replicas; ++replica) {
    std::vector<HostSlots>& mine = share.replicas.emplace_back();
    for (int missing = ranks; missing > 0;) {
      if (next == share.spares.end())
        throw Error(Scope::rank, format("replicas.hosts has too few slots: %d replicas of %d ranks need %d",
                                        replicas, ranks, replicas * ranks));
      const int taken = std::min(missing, next->slots);
      mine.push_back({next->host, taken});
      missing -= taken;
      next->slots -= taken;
      if (next->slots == 0) ++next;
    }
  }
  share.spares.erase(share.spares.begin(), next);
  return share;
}

}  // namespace tenax::app
