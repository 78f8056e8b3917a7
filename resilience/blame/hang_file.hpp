// What a run keeps of a hang: its file, replica-K/hang-N.json, which is a HangDump as JSON, its picture, and the words of its
// event.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/json.hpp"
#include "resilience/blame/culprits.hpp"

namespace tenax::resilience {

/// `culprits` = [{replica, rank, host, operation}], most likely first; `operation`, which the others wait for;
/// `waiting_ranks`; `seconds`.
io::JsonObject blame_json(const HangDump& dump, const Blame& blame);

/// Writes hang-N.json and hang-N.svg into `directory`, N the first number that is free there, from 0. Returns the path of
/// the former. Throws kernels::Error(rank) where they cannot be written.
std::filesystem::path record_hang(const std::filesystem::path& directory, const HangDump& dump,
                                  const Blame& blame);

std::string hang_text(const HangDump& dump);
/// What hang_text() wrote. Throws kernels::Error(rank), a sentence that names file and fault, for anything else.
HangDump read_hang(const std::filesystem::path& file);
/// The last one of a run, the newest replica-K/hang-N.json; nothing where there is none.
std::optional<std::filesystem::path> find_last_hang(const std::filesystem::path& run_directory);
/// The same. Throws kernels::Error(rank) where there is none.
std::filesystem::path last_hang_of_run(const std::filesystem::path& run_directory);

}  // namespace tenax::resilience
