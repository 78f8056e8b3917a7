// The folder that a model is exported into: others may have theirs there.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace tenax::io {

/// Refuses to write over the texts of another model: who reads that one would take it for this one. `texts`, by name,
/// go beside the weights `out`. Those of an export that is replaced, and such as differ in torch_dtype alone, may be
/// there. Throws kernels::Error(rank) that names the file.
void check_texts_beside(const std::filesystem::path& out, const std::map<std::string, std::string>& texts);

}  // namespace tenax::io
