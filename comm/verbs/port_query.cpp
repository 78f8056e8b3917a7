#include "comm/verbs/port_query.hpp"

#include <endian.h>
#include <infiniband/verbs.h>

#include <cstring>
#include <fstream>
#include <map>

#include "comm/transport/listening_interfaces.hpp"
#include "kernels/error.hpp"

namespace tenax::comm::verbs {
namespace {

std::string state_name(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN:
      return "DOWN";
    case IBV_PORT_INIT:
      return "INIT";
    case IBV_PORT_ARMED:
      return "ARMED";
    case IBV_PORT_ACTIVE:
      return "ACTIVE";
    case IBV_PORT_ACTIVE_DEFER:
      return "ACTIVE_DEFER";
    case IBV_PORT_NOP:
      break;
  }
  return "NOP";
}

int bytes_of(ibv_mtu mtu) {
  constexpr int kSmallest = 256;
  return kSmallest << (static_cast<int>(mtu) - IBV_MTU_256);
}

int numa_node_of(const Device& device) {
  int node = -1;
  std::ifstream(device.sysfs_path() + "/device/numa_node") >> node;
  return node;
}

/// The rows of the port that hold something.
std::vector<GidEntry> gid_table(const Device& device, int number, int rows) {
  std::vector<ibv_gid_entry> all(static_cast<std::size_t>(rows * ports_of(device)));
  const ssize_t found = ibv_query_gid_table(device.context(), all.data(), all.size(), 0);
  std::vector<GidEntry> table;
  for (ssize_t i = 0; i < found; ++i) {
    const ibv_gid_entry& each = all[static_cast<std::size_t>(i)];
    if (each.port_num != static_cast<std::uint32_t>(number)) continue;
    GidEntry entry{static_cast<int>(each.gid_index), {}, each.gid_type == IBV_GID_TYPE_ROCE_V2};
    std::memcpy(entry.gid.data(), each.gid.raw, entry.gid.size());
    table.push_back(entry);
  }
  return table;
}

std::uint64_t subnet_prefix(const std::vector<GidEntry>& table) {
  std::uint64_t prefix = 0;
  if (!table.empty()) std::memcpy(&prefix, table.front().gid.data(), sizeof prefix);
  return be64toh(prefix);
}

/// Of the interface that has the address; 0 where none has.
std::uint64_t network_of(const Gid& gid) {
  const std::string text = ip_text(gid);
  try {
    for (const NetworkAddress& address : network_addresses({}))
      if (address.text == text) return address.network;
  } catch (const kernels::Error&) {
    // Then any port is as near as any other.
  }
  return 0;
}

/// Rows of 0 are empty. A port that tells of none has the one that all have.
std::vector<Partition> partitions_of(const Port& port, int rows) {
  std::vector<Partition> partitions;
  for (int i = 0; i < rows && partitions.size() < Port::kMostPartitions; ++i) {
    __be16 pkey = 0;
    if (ibv_query_pkey(port.device->context(), static_cast<std::uint8_t>(port.number), i, &pkey) != 0) break;
    if (pkey != 0) partitions.push_back({i, be16toh(pkey)});
  }
  if (partitions.empty()) partitions.emplace_back();
  return partitions;
}

/// Fills in the addresses; returns what is in the way.
std::string find_address(Port& port, int rows, const GidRules& rules) {
  const std::vector<GidEntry> table = gid_table(*port.device, port.number, rows);
  if (port.link_layer == LinkLayer::infiniband) port.subnet_prefix = subnet_prefix(table);
  const GidChoice choice = choose_gid(table, port.link_layer, rules);
  if (!choice.entry) return choice.obstacle;
  port.gid_index = choice.entry->index;
  port.gid = choice.entry->gid;
  if (port.link_layer == LinkLayer::ethernet) port.subnet_prefix = network_of(port.gid);
  return {};
}

}  // namespace

double link_gbps(int width, int speed) {
  static const std::map<int, int> lanes = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
  static const std::map<int, double> gbps_of_lane = {{1, 2.5}, {2, 5},   {4, 10},  {8, 10},
                                                     {16, 14}, {32, 25}, {64, 50}, {128, 100}};
  const auto lane = lanes.find(width);
  const auto gbps = gbps_of_lane.find(speed);
  return lane == lanes.end() || gbps == gbps_of_lane.end() ? 0 : lane->second * gbps->second;
}

int ports_of(const Device& device) {
  ibv_device_attr attributes{};
  return ibv_query_device(device.context(), &attributes) == 0 ? attributes.phys_port_cnt : 0;
}

PortStatus query_port(const std::shared_ptr<Device>& device, int number, const GidRules& rules) {
  PortStatus status;
  status.name = device->name() + ":" + std::to_string(number);
  status.port.number = number;
  ibv_port_attr attributes{};
  if (const int error = ibv_query_port(device->context(), static_cast<std::uint8_t>(number), &attributes);
      error != 0) {
    status.state = "LOST";
    status.obstacle = std::string("does not answer (") + std::strerror(error) + ")";
    return status;
  }
  Port& port = status.port;
  port.device = device;
  port.link_layer =
      attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? LinkLayer::ethernet : LinkLayer::infiniband;
  port.mtu_bytes = bytes_of(attributes.active_mtu);
  port.lid = attributes.lid;
  if (port.link_layer == LinkLayer::infiniband)
    port.partitions = partitions_of(port, attributes.pkey_tbl_len);
  port.needs_grh = (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  port.gbps = link_gbps(attributes.active_width, attributes.active_speed);
  port.numa_node = numa_node_of(*device);
  status.state = state_name(attributes.state);
  status.obstacle = find_address(port, attributes.gid_tbl_len, rules);
  if (device->context()->device->transport_type != IBV_TRANSPORT_IB)
    status.obstacle = "is neither InfiniBand nor RoCE";
  else if (attributes.state != IBV_PORT_ACTIVE)
    status.obstacle = "is " + status.state;
  return status;
}

}  // namespace tenax::comm::verbs
