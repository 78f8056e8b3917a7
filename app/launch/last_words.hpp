// What a shell, mpirun or a rank said last before it ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tenax::app {

/// The last line of `log` that may say why it ended, of what stands behind its first `from` bytes: none of a
/// run's banner and tables. Else a sentence that names the file and how it ended: `status` is waitpid()'s.
std::string last_words(const std::filesystem::path& log, std::uintmax_t from = 0, int status = 0);

}  // namespace tenax::app
