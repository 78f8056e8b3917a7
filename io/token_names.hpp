// What a name in data.train or data.validation stands for.
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
/// Has wildcards, or is a folder's as far as one can tell without looking: no ending, or a / at its end.
bool may_name_many(const std::filesystem::path& name);

/// The files of one sequence: `name` itself, or by name the token files that match it or lie in that folder, other files
/// and hidden ones aside. Throws kernels::Error(rank) if there are none, or if they are of more than one kind, for then
/// some may be made of others.
std::vector<std::filesystem::path> token_files_of(const std::filesystem::path& name);

}  // namespace tenax::io
