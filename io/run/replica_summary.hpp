// The replicas of a run in words, for `tenax inspect`.
#pragma once

#include <filesystem>
#include <string>

namespace tenax::io {

/// Lines that tell who the members of the last epoch are (ledger.jsonl), and of each replica its
/// incarnation, losses and joins (events.jsonl). Empty for a run without a ledger.
std::string summarise_replicas(const std::filesystem::path& run_directory);

}  // namespace tenax::io
