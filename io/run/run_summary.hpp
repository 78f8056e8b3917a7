// What a run directory tells about its run.
#pragma once

#include <filesystem>
#include <string>

namespace tenax::io {

/// How the run ended (events.jsonl), its last metrics (metrics.jsonl) and its checkpoints, as lines for
/// people. Throws kernels::Error(rank) if `directory` is no run directory.
std::string summarise_run(const std::filesystem::path& directory);

/// Where the resolved deck of the run in `directory` says that checkpoints are, or where they usually are.
std::filesystem::path checkpoint_directory_of_run(const std::filesystem::path& directory);

}  // namespace tenax::io
