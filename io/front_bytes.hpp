// What a file is by its first bytes, whatever its name says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/posix_file.hpp"

namespace tenax::io {

/// Begins each checkpoint of tenax; its format follows.
inline constexpr std::string_view kCheckpointMagic = "tenax checkpoint";

/// At most `most`, as text; fewer of a shorter file.
std::string front_bytes(const PosixFile& file, std::int64_t most);

}  // namespace tenax::io
