// Whose the checkpoints are in a run's checkpoint.dir. A run that goes on may use those that its deck.toml names.
#pragma once

#include <string>

#include "app/training/run_start.hpp"

namespace tenax::app {

/// Where checkpoint.dir has none to resume from. Throws kernels::Error(rank) if some are where the run directory's own
/// deck.toml says: the run would begin at step 0 without a word of them.
void check_checkpoints_are_nowhere_else(const io::Deck& deck);

/// Whether a checkpoint there may be given its place before anybody knows how the run begins: false in another run's
/// directory, which has that checkpoint.dir by its deck. Throws kernels::Error(rank) there if this run is to write some.
bool may_place_checkpoints(const io::Deck& deck);

/// Before a run that begins as `start` changes anything there. Throws kernels::Error(rank) where another run directory
/// has the same checkpoint.dir by its deck, and this run would change something. Returns a sentence to warn of where it
/// would not, and where the checkpoint to resume from was written by a run of another directory, whose deck does not
/// say so any more; else nothing.
std::string check_checkpoint_owner(const io::Deck& deck, const RunStart& start);

}  // namespace tenax::app
