// The run that a run directory holds when another one is to begin there.
#pragma once

#include <filesystem>

namespace tenax::io {

struct Deck;

/// Whether a run has written to `directory`.
bool holds_run(const std::filesystem::path& directory);

/// When model.init_weights is read.
enum class FirstWeights { before_the_move, after_the_move };

/// With run.resume = "never" and a run in run.output_dir: throws kernels::Error(rank) where more would be moved aside
/// with it than a run writes: `deck_file`, a file that the deck names, or the working directory. A checkpoint of the old
/// run may give the first weights if they are read before the move. Changes nothing.
void check_old_run_moves_alone(const Deck& deck, const std::filesystem::path& deck_file,
                               FirstWeights weights);

/// Moves the run to the first free one of <directory>.1, .2, …, and returns that. Throws kernels::Error(rank).
std::filesystem::path move_run_aside(const std::filesystem::path& directory);

}  // namespace tenax::io
