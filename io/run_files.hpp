// The files of a run directory.
#pragma once

#include <filesystem>
#include <string>

namespace tenax::io {

/// The whole file. Returns 0, or the errno of what failed.
int read_text_file(const std::filesystem::path& file, std::string& text);

}  // namespace tenax::io
