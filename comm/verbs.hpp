// Verbs: RDMA over InfiniBand and RoCE.
//
// A library of its own (tenax_comm_verbs), which only app/ links: comm/verbs, or without libibverbs
// comm/verbs/absent.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenax::comm {

/// Whether libibverbs was compiled in. Without it a host has no ports.
bool has_verbs();

/// How to compile it in, for errors: "this tenax was built without verbs: …".
inline constexpr const char* kNoVerbs =
    "this tenax was built without verbs: configure with -DTENAX_VERBS=ON (libibverbs-dev)";

/// An entry of verbs.devices.
struct VerbsPortPattern {
  std::string device;   ///< "mlx5_0"
  int number = 0;       ///< from 1; 0: each of its ports
  int local_rank = -1;  ///< for that rank of its host alone, from 0; −1: for all
};

/// Which ports may be used, and with what addresses.
struct VerbsPortOptions {
  std::vector<VerbsPortPattern> patterns;  ///< in order of preference; none = every port
  std::vector<std::string> interfaces;     ///< comm.interfaces: where RoCE's addresses may be; none = any
  int gid_index = -1;                      ///< the row of a port's table; −1: by its address
};

/// A port of this host, for people.
struct VerbsPort {
  std::string name;              ///< "mlx5_0:1"
  std::string state;             ///< "ACTIVE", "DOWN", …; "LOST" where its device does not answer
  std::string link_layer;        ///< "InfiniBand", "Ethernet"; empty where it does not answer
  int mtu_bytes = 0;             ///< 0 where it does not answer
  double gbps = 0;               ///< gigabits a second; 0: not known
  int numa_node = -1;            ///< −1: not known
  std::optional<int> gid_index;  ///< of the address that would be used
  std::string gid;               ///< that address, as an IPv6 address
  std::string obstacle;          ///< "is DOWN": why it cannot be used; empty where it can
};

/// All ports of this host. Where `options` names some, for any rank, the others are not usable.
/// Throws Error(rank) for a pattern that names none.
std::vector<VerbsPort> verbs_ports(const VerbsPortOptions& options);

/// How much memory this process may lock, and so register; nothing = any amount.
std::optional<std::int64_t> locked_memory_bytes();

}  // namespace tenax::comm
