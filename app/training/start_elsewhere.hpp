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

/// Whether a start that leaves hosts out can have others: the run stands on `hosts_used` of the more
/// that its Slurm allocation has, or its batch script submits it again (TENAX_REQUEUE, which
/// inputs/slurm/requeue.sh sets).
bool can_start_elsewhere(const Environment& environment, int hosts_used);

/// Adds `hosts`, those that it does not hold yet, to exclude_hosts.txt in `run_directory`: one a line.
/// Throws kernels::Error(rank).
void exclude_hosts(const std::filesystem::path& run_directory, const std::vector<std::string>& hosts);

}  // namespace tenax::app
