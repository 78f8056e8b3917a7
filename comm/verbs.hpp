// Verbs: RDMA over InfiniBand and RoCE.
//
// A library of its own (tenax_comm_verbs), which only app/ links: comm/verbs, or without libibverbs
// comm/verbs/absent.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenax::comm {

class Identity;
class Listener;
class PendingConnections;
struct TransportOptions;

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

/// What has become of a port.
struct VerbsPortChange {
  std::string port;    ///< "mlx5_0:1"
  std::string state;   ///< "down", "up"; "lost", "found": with its device
  std::string reason;  ///< why it cannot be used; empty where it can
};

/// How a rank uses RDMA.
struct VerbsSettings {
  VerbsPortOptions ports;
  int local_rank = 0;          ///< this process's number among the run's on its host, from 0
  int place_on_node = 0;       ///< the same among those of its NUMA node, as far as they are bound to one
  bool has_other_ways = true;  ///< peers can be reached without RDMA too
  std::size_t ring_bytes = std::size_t{1} << 20;  ///< whole pages, 64 KiB … 64 MiB; for each direction
  double silence_s = 1;                           ///< what is not acknowledged for so long has failed
  int service_level = 0, traffic_class = 0;
  bool gpu_direct = true;  ///< device memory is registered where driver, kernel and adapter can; else none is
  /// Called on a thread of the rank's ports, one change after the other.
  std::function<void(const VerbsPortChange&)> on_port_change = {};
};

/// A rank's RDMA ports, watched as long as it lives. It outlives the transport that listens by it, and
/// that one's connections. Thread rule: any thread.
class VerbsRank {
 public:
  virtual ~VerbsRank() = default;
  /// The ports that the settings want, as they are now.
  virtual std::vector<VerbsPort> ports() const = 0;
  /// TransportOptions::create_verbs_listener.
  virtual std::function<std::unique_ptr<Listener>(const TransportOptions&, Identity me, PendingConnections&)>
  listener() const = 0;
};

/// Throws Error(rank) for a pattern that names no port, and without libibverbs.
std::unique_ptr<VerbsRank> create_verbs_rank(const VerbsSettings& settings);

/// What an adapter locks at each end of a connection beside its two rings, at most: queues, and pages for answers.
std::int64_t queue_bytes(std::size_t ring_bytes);

/// What to do where a process may lock too little, for errors.
inline constexpr const char* kLockMore =
    "raise \"ulimit -l\" (limits.conf; under Slurm PropagateResourceLimitsExcept=MEMLOCK), or lower "
    "verbs.ring_kib";

/// How much memory this process may lock, and so register; nothing = any amount.
std::optional<std::int64_t> locked_memory_bytes();

}  // namespace tenax::comm
