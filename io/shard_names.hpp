// The names of a set of token files, NAME-00000.h5, NAME-00001.h5, …, and whether all of it is there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenax::io {

/// NAME-00012.h5 for `target` = NAME.h5 and `shard` = 12: five digits or more.
std::filesystem::path shard_name(const std::filesystem::path& target, std::size_t shard);

/// "NAME.h5" for "NAME-00012.h5", empty for a name of another form. Without folders.
std::string set_of_shard(const std::string& name);

/// The first file, by name, of the set of `target`; nothing if there is none.
std::optional<std::filesystem::path> first_shard(const std::filesystem::path& target);

/// Throws kernels::Error(rank) where one of `files` is of a set of which another is not in place yet: `tenax tokenize`
/// is at it, or was killed. Its temporary file tells.
void check_sets_are_whole(const std::vector<std::filesystem::path>& files);

}  // namespace tenax::io
