// Whether the hosts of a run have room for its ranks: memory, asked before anything is
// allocated, and cores.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "comm/control_group.hpp"
#include "kernels/device.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::app {

/// Bytes that a rank takes of its host's memory: all that it plans where the device computes there,
/// pinned memory elsewhere. The emulated device's tensors take none.
std::size_t host_bytes(const parallel::RankMemory& memory, const kernels::Device& device);
/// The same for all ranks of the layout.
std::size_t host_bytes(const parallel::Layout& layout, const kernels::Device& device);

/// What a rank needs of its host, and what it found available there, bytes.
struct RankNeed {
  std::string host;
  std::size_t needs = 0, available = 0;
};

/// Why `ranks` cannot start: the first host that lacks memory for all of its ranks, how much, and
/// what to do. Empty if none does.
std::string memory_refusal(const std::vector<RankNeed>& ranks);

/// Collective: throws comm::AgreedError(rank) with the refusal of all ranks' needs, if
/// there is one.
void check_memory(comm::ControlGroup& control, const RankNeed& mine);

/// Ranks and cores of the host that has the fewest cores for its ranks.
struct Crowding {
  int ranks = 0, cores = 1;
  /// Whether ranks of so many threads take turns: then what passes take says nothing about the machine.
  bool is_crowded(int threads = 1) const { return ranks * threads > cores; }
};

/// What a rank tells the others: its host, and the cores that it may run on.
std::string cores_text(const std::string& host);
/// `texts`: of all ranks. Cores that ranks are bound to count once, and no more than the processor
/// time that their control group may use. `replicas`: on each host, so many run as many ranks as this one
/// (JoinFile::replicas_on_host), bound to no cores of their own.
Crowding crowding_of(const std::vector<std::string>& texts, int replicas = 1);

}  // namespace tenax::app
