// NCCL: collectives and pipeline messages from GPU to GPU.
//
// A library of its own (tenax_comm_nccl), which only app/ links: comm/nccl, or without the toolkit
// comm/nccl/absent.cpp, whose factories throw the CMake option to enable.
//
// Nothing of it blocks the calling thread for a message, except the first uses of a communicator,
// which connect it. What has started is watched: when its turn on the device has come and nobody
// asked for it in options.deadline_s since, or NCCL reports an error, the communicator is aborted,
// which ends its work on the device; streams that were ordered after that work go on, and every
// later call throws Error(link) naming operation, ranks and hosts. No caller waits for the abort.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/control_group.hpp"

namespace tenax::comm {

struct NcclOptions {
  double deadline_s = 60;  ///< for what is under way
  double joining_s = 60;   ///< for all ranks to come and connect
};

/// What a run asks of its NCCL groups.
struct NcclUse {
  bool keeps_order = false;                ///< pin_nccl_order()
  std::set<std::string> overlapping = {};  ///< groups, by name, whose collectives run while passes do
};

/// "NCCL 2.28.9": what was compiled in, for --version; empty where nothing was.
std::string nccl_version();

/// Why this process cannot use NCCL, to follow "rank 1 (host)": "cannot load NCCL …", "has NCCL 2.18.3 …"; empty where it can.
/// Loads the library.
std::string nccl_lack();

/// Keeps the order in which NCCL adds: one algorithm and one protocol (rings, in whole messages) whatever the sizes, the
/// ranks' distances and NCCL's estimates, unless the user's environment names others. Call before the process's first
/// communicator.
void pin_nccl_order();

/// Why the ranks of `job` cannot use NCCL, in words for people; empty if they can. Collective;
/// every rank gets the same answer. NCCL needs a GPU of its own for each rank. Ranks with different
/// NCCL_HOSTID in the environment count as ranks of different hosts: so tests run several ranks on
/// one GPU.
std::string nccl_obstacle(ControlGroup& job, const kernels::Device& device, const std::string& host);

/// Collective over `endpoint`, whose links carry the group's id, now and when the order of its ring
/// changes, and whose names errors use. `device` must outlive the communicator.
///
/// The order of its ring is that of NCCL's ranks: where ranks are on different hosts, NCCL goes round
/// those in it. A new order is a new communicator, in which NCCL adds in another order, too.
///
/// What Communicator promises, but for sums of f32 and f64: their order is NCCL's (of its rings and
/// trees), the same in every run on the same ranks and GPUs, with the same bits on every rank. bf16
/// is summed in fp32, in rank order, and rounded once. Operations run on a stream of the
/// communicator's.
///
/// Where it `overlaps` with passes its kernels, which wait for the slowest rank, hold few multiprocessors, which
/// the device lends them; else as many as NCCL likes.
std::unique_ptr<Communicator> create_nccl_communicator(std::string name, std::unique_ptr<Endpoint> endpoint,
                                                       kernels::Device& device, NcclOptions options,
                                                       bool overlaps = false);

/// Links to those of the ranks before and after this one in `endpoint` that are in `neighbours`;
/// both ends name each other. Collective over `endpoint`. A link has one NCCL communicator a
/// direction, so that neither a slow link nor the other direction holds a message up. NCCL has no
/// tags: within a direction both ends name messages in the same order, or bytes go astray.
/// Transfers order_before without blocking. A transfer that is destroyed before it is done or
/// ordered before something takes its direction with it.
std::unique_ptr<Endpoint> create_nccl_endpoint(std::unique_ptr<Endpoint> endpoint,
                                               const std::vector<int>& neighbours, kernels::Device& device,
                                               NcclOptions options);

}  // namespace tenax::comm
