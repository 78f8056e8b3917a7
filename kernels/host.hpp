// What this host is, and what it has for this process: processor, cores and memory, control groups
// (containers, Slurm) considered.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenax::kernels {

/// The processor's name and its widest vector instructions, e.g. "AMD EPYC, AVX-512".
std::string processor_name();

/// The loops that this process computes with on its processor, e.g. "avx512_bf16" (cpu/cpu_loops.hpp,
/// whose cpu_loops() it calls).
std::string cpu_loops_name();

/// Of these loops, those that sum and update gradients, e.g. "avx512": where they are equal, so are the bits of that.
std::string cpu_loops_base();

/// All that this build has, from the fewest instructions to the most.
std::vector<std::string> built_loops_names();

/// Where programs of this user keep what they can find out again: $XDG_CACHE_HOME, else ~/.cache; empty where
/// neither is an absolute path (XDG Base Directory Specification).
std::filesystem::path user_cache_directory();

/// Cores that this process may use: those of its affinity, but no more than the processor time of
/// its control groups is worth, rounded up. At least 1.
int usable_cores();

/// The NUMA node that this thread is bound to: all cores of its affinity are of it. Nothing where they are of several, or
/// where it is not known. `root`: the folder that holds /sys.
std::optional<int> bound_numa_node(const std::filesystem::path& root = "/");

/// Bytes that this process may use: the host's memory, or the smallest limit of its control groups
/// where that is less.
std::size_t usable_memory_bytes();

/// Bytes that can be allocated now: what the kernel says is available, or what is left in one of
/// the process's control groups where that is less (its limit without what it uses; pages of files
/// do not count, as they give way). Processes of the group share it. `root`: the folder that holds
/// /proc and /sys.
std::size_t available_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace tenax::kernels
