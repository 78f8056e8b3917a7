// The control groups of Linux that this process is in, of version 1 or 2.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace tenax::kernels {

/// Calls `visit` with the folder of each group of this process that may limit what `controller` is about, and of its
/// ancestors; some may not exist. `root`: where /proc and /sys are.
void for_each_control_group(const std::string& controller, const std::filesystem::path& root,
                            const std::function<void(const std::filesystem::path&)>& visit);

}  // namespace tenax::kernels
