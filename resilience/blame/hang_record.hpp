// What a run keeps of a hang: files, and the words of its event.
#pragma once

#include <filesystem>

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

}  // namespace tenax::resilience
