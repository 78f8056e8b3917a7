// Port: one port of an RDMA device, as connections use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/verbs/device.hpp"

namespace tenax::comm::verbs {

enum class LinkLayer { infiniband, ethernet };

/// As it travels: network byte order.
using Gid = std::array<std::byte, 16>;

/// A row of a port's table of P_Keys that holds one.
struct Partition {
  int row = 0;
  std::uint16_t pkey =
      0xffff;  ///< 15 bits of its number, and kFullMember: limited members cannot talk to each other
  static constexpr std::uint16_t kFullMember = 0x8000;
  bool operator==(const Partition&) const = default;
};

/// What was true when it was asked. A queue pair takes its addresses from here: a port that comes
/// back is asked anew.
struct Port {
  std::shared_ptr<Device> device;
  int number = 1;  ///< from 1, on its device
  LinkLayer link_layer = LinkLayer::ethernet;
  int mtu_bytes = 1024;                      ///< 256 … 4096: the path's largest packet
  int lid = 0;                               ///< InfiniBand's address within a subnet; 0 on Ethernet
  std::vector<Partition> partitions = {{}};  ///< that it is a member of, the first kMostPartitions
  static constexpr std::size_t kMostPartitions = 8;
  int gid_index = 0;  ///< of `gid`, in the port's table
  Gid gid{};          ///< RoCE: the IP address (IPv4 mapped into IPv6) that packets come from
  bool needs_grh =
      false;            ///< InfiniBand: its LID is not its own, and packets carry GIDs within its subnet too
  double gbps = 0;      ///< gigabits a second
  int numa_node = -1;   ///< −1: not known
  bool is_near = true;  ///< none of the process's ports is nearer to its memory, as far as is known
  std::uint64_t subnet_prefix =
      0;  ///< equal where no router is between two ports: of InfiniBand's or IP's subnet

  std::string name() const { return device->name() + ":" + std::to_string(number); }  ///< "mlx5_0:1"
};

}  // namespace tenax::comm::verbs
