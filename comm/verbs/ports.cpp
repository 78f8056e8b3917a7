#include "comm/verbs/ports.hpp"

#include <algorithm>

#include "comm/failure.hpp"
#include "comm/transport/listening_interfaces.hpp"

namespace tenax::comm::verbs {
namespace {

std::string text_of(const PortName& port) { return port.device + ":" + std::to_string(port.number); }

bool matches(const VerbsPortPattern& pattern, const PortName& port) {
  return pattern.device == port.device && (pattern.number == 0 || pattern.number == port.number);
}

[[noreturn]] void refuse(const VerbsPortPattern& pattern, const std::vector<PortName>& there) {
  std::string names;
  for (const PortName& port : there) names += (names.empty() ? "" : ", ") + text_of(port);
  throw kernels::Error(
      kernels::Scope::rank,
      "verbs.devices names " +
          (pattern.number == 0 ? pattern.device : text_of({pattern.device, pattern.number})) + ", which " +
          this_host() + " does not have; there " +
          (names.empty() ? "is no RDMA device (tenax ports)" : (there.size() == 1 ? "is " : "are ") + names));
}

/// A device that cannot be opened is one port that does not work.
std::vector<PortStatus> query_device(const std::string& name, const GidRules& rules) {
  try {
    const std::shared_ptr<Device> device = Device::open(name);
    std::vector<PortStatus> ports;
    for (int number = 1; number <= ports_of(*device); ++number)
      ports.push_back(query_port(device, number, rules));
    return ports;
  } catch (const kernels::Error& error) {
    return {{name + ":1", "LOST", {}, std::string("cannot be used: ") + error.what()}};
  }
}

}  // namespace

std::vector<PortName> matching_ports(const std::vector<PortName>& there,
                                     const std::vector<VerbsPortPattern>& patterns,
                                     std::optional<int> local_rank) {
  if (patterns.empty()) return there;
  std::vector<PortName> chosen;
  for (const VerbsPortPattern& pattern : patterns) {
    const bool is_mine = pattern.local_rank < 0 || !local_rank || pattern.local_rank == *local_rank;
    bool found = false;
    for (const PortName& port : there) {
      if (!matches(pattern, port)) continue;
      found = true;
      if (is_mine && std::find(chosen.begin(), chosen.end(), port) == chosen.end()) chosen.push_back(port);
    }
    if (!found) refuse(pattern, there);
  }
  return chosen;
}

GidRules gid_rules(const VerbsPortOptions& options) {
  GidRules rules{options.gid_index, {}};
  if (options.interfaces.empty()) return rules;
  rules.addresses.emplace();
  const auto is_chosen = [&](const std::string& text) {
    return std::find(options.interfaces.begin(), options.interfaces.end(), text) != options.interfaces.end();
  };
  for (const NetworkAddress& address : network_addresses({}))
    if (is_chosen(address.interface) || is_chosen(address.text)) rules.addresses->push_back(address.text);
  return rules;
}

Ports::Ports(const VerbsPortOptions& options, std::optional<int> local_rank) {
  const GidRules rules = gid_rules(options);
  std::vector<PortName> there;
  for (const std::string& name : Device::names())
    for (PortStatus& status : query_device(name, rules)) {
      there.push_back({name, status.port.number});
      all_.push_back(std::move(status));
    }
  for (const PortName& port : matching_ports(there, options.patterns, local_rank))
    chosen_.push_back(static_cast<std::size_t>(std::find(there.begin(), there.end(), port) - there.begin()));
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i].is_usable() && std::find(chosen_.begin(), chosen_.end(), i) == chosen_.end())
      all_[i].obstacle = "is not in verbs.devices";
}

std::vector<PortStatus> Ports::chosen() const {
  std::vector<PortStatus> ports;
  for (const std::size_t i : chosen_) ports.push_back(all_[i]);
  return ports;
}

}  // namespace tenax::comm::verbs
