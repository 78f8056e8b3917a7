// Whole files of text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

namespace tenax::io {

/// The whole of a file that is one (neither a directory nor a pipe nor a device, which may never end) of at most
/// `most_bytes`. Returns why not; `text` is then empty.
std::error_code read_text_file(const std::filesystem::path& file, std::string& text,
                               std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max());
/// Written beside `file`, made durable, renamed: readers see the old text or the new one.
void write_file_atomically(const std::filesystem::path& file, std::string_view text);

}  // namespace tenax::io
