// The file of a hang, replica-K/hang-N.json: a HangDump as JSON.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "resilience/blame/hang_dump.hpp"

namespace tenax::resilience {

std::string hang_text(const HangDump& dump);
/// What hang_text() wrote. Throws kernels::Error(rank), a sentence that names file and fault, for anything else.
HangDump read_hang(const std::filesystem::path& file);
/// The last one of a run, the newest replica-K/hang-N.json; nothing where there is none.
std::optional<std::filesystem::path> find_last_hang(const std::filesystem::path& run_directory);
/// The same. Throws kernels::Error(rank) where there is none.
std::filesystem::path last_hang_of_run(const std::filesystem::path& run_directory);

}  // namespace tenax::resilience
