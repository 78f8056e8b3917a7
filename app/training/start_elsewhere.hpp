// Where a run that ends because of slow hosts can be started again, and what it leaves for that.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tenax::app {

/// The reason of the end of such a run, and its exit status.
inline constexpr const char* kRestart = "restart";
inline constexpr int kRestartStatus = 3;

/// As std::getenv.
using Environment = std::function<const char*(const char* name)>;

/// How many other hosts a start can have that leaves some of `used` out: those of the Slurm allocation
/// on which the run does not stand, without as many as exclude_hosts.txt in `run_directory` names (it
/// is taken to name hosts of this allocation). Any number where the batch script submits the run
/// again (TENAX_REQUEUE, which inputs/slurm/requeue.sh sets). Throws kernels::Error(rank) if the
/// file cannot be read.
int spare_hosts(const Environment& environment, const std::vector<std::string>& used,
                const std::filesystem::path& run_directory);

/// Adds `hosts`, those that it does not hold yet, to exclude_hosts.txt in `run_directory`: one a line.
/// Throws kernels::Error(rank).
void exclude_hosts(const std::filesystem::path& run_directory, const std::vector<std::string>& hosts);

}  // namespace tenax::app
