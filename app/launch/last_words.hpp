// What a shell, mpirun or a rank said last before it ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tenax::app {

/// The last line of `log` that says something, of what stands behind its first `from` bytes; else a
/// sentence that names the file.
std::string last_words(const std::filesystem::path& log, std::uintmax_t from = 0);

}  // namespace tenax::app
