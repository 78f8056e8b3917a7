// A run directory in words, for `tenax inspect`.
#pragma once

#include <filesystem>
#include <string>

namespace tenax::io {

/// Lines that tell how the run ended (events.jsonl), its last metrics (metrics.jsonl), its replicas
/// (replica_summary.hpp) and its checkpoints. Throws kernels::Error(rank) if `directory` is no run directory.
std::string summarise_run(const std::filesystem::path& directory);

/// The checkpoint directory in the resolved deck of the run in `directory`; without a deck, the
/// usual one.
std::filesystem::path checkpoint_directory_of_run(const std::filesystem::path& directory);

}  // namespace tenax::io
