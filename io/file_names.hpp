// File names as users give them: patterns, as a shell has them, and the names in data.train and
// data.validation.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tenax::io {

/// For messages: the endings, each with what it means.
inline constexpr std::string_view kTokenEndings =
    ".txt (text), .bin (uint16, llm.c's, or Megatron's with its .idx) or .h5 (of tenax tokenize)";

bool is_token_file_name(const std::filesystem::path& name);
/// Whether `name` has wildcards, or looks like a folder's: no ending, or a / at its end. Looks at
/// no disk.
bool may_name_many(const std::filesystem::path& name);

/// The files of one sequence: `name` itself, or sorted by name the token files that match it or lie
/// in that folder. Other files and hidden ones do not count. Throws kernels::Error(rank) if there
/// are none, or if they are of more than one kind: some may then be made of others. Nor may some of a set that
/// `tenax tokenize` makes be missing yet.
std::vector<std::filesystem::path> token_files_of(const std::filesystem::path& name);

/// Whether `name` holds one of * ? [ {.
bool has_wildcards(const std::string& name);

/// The files that match `name`, sorted. Just `name` if it has no wildcards or names a file. Throws
/// kernels::Error(rank) if none matches.
std::vector<std::filesystem::path> matching_files(const std::string& name);

}  // namespace tenax::io
