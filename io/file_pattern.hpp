// Names with wildcards, as a shell has them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenax::io {

/// Whether there is one of * ? [ in it.
bool has_wildcards(const std::string& name);

/// The files that match, sorted; just `name` if it has no wildcards or is itself a file's. Throws kernels::Error(rank) if
/// none matches.
std::vector<std::filesystem::path> matching_files(const std::string& name);

}  // namespace tenax::io
