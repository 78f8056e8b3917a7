// How much memory this host has for this process.
#pragma once

#include <cstddef>
#include <filesystem>

namespace tenax::kernels {

/// Bytes this process may use: physical memory, or the smallest limit of its control groups where that is less.
std::size_t usable_memory_bytes();

/// Bytes that can be allocated now: what the kernel says is available, or what one of the process's control groups has
/// left where that is less: its limit without what it uses, but for pages of files, which give way. Processes of the
/// group share it. `root`: where /proc and /sys are.
std::size_t available_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace tenax::kernels
