#include "comm/verbs/port_list.hpp"

#include <arpa/inet.h>

#include "comm/verbs/ports.hpp"

namespace tenax::comm {
namespace {

std::string gid_text(const verbs::Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
}

}  // namespace

namespace verbs {

VerbsPort described(const PortStatus& status) {
  VerbsPort port;
  port.name = status.name;
  port.state = status.state;
  port.obstacle = status.obstacle;
  if (!status.port.device) return port;
  port.link_layer = status.port.link_layer == LinkLayer::infiniband ? "InfiniBand" : "Ethernet";
  port.mtu_bytes = status.port.mtu_bytes;
  port.gbps = status.port.gbps;
  port.numa_node = status.port.numa_node;
  if (status.port.gid == Gid{}) return port;
  port.gid_index = status.port.gid_index;
  port.gid = gid_text(status.port.gid);
  return port;
}

}  // namespace verbs

bool has_verbs() { return true; }

std::vector<VerbsPort> verbs_ports(const VerbsPortOptions& options) {
  const verbs::Ports ports(options, std::nullopt);
  std::vector<VerbsPort> described_ports;
  for (const verbs::PortStatus& status : ports.all()) described_ports.push_back(verbs::described(status));
  return described_ports;
}

}  // namespace tenax::comm
