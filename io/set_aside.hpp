// Files and folders that are kept under another name, so that something new can have theirs.
#pragma once

#include <filesystem>
#include <optional>

namespace tenax::io {

/// The first of PATH.1, PATH.2, … that nothing has.
std::filesystem::path free_name_beside(const std::filesystem::path& path);
/// Renames `path` to free_name_beside() it and returns that; nothing where there is no `path`. Throws
/// kernels::Error(rank).
std::optional<std::filesystem::path> set_aside(const std::filesystem::path& path);

}  // namespace tenax::io
