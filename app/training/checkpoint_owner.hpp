// Whose the checkpoints are in a run's checkpoint.dir.
#pragma once

#include <string>

#include "app/training/run_start.hpp"

namespace tenax::app {

/// Before a run that begins as `start` changes anything there. Throws kernels::Error(rank) where another run directory
/// has the same checkpoint.dir by its deck. Returns a sentence to warn of where the checkpoint to resume from was
/// written by a run of another directory, whose deck does not say so any more; else nothing.
std::string check_checkpoint_owner(const io::Deck& deck, const RunStart& start);

}  // namespace tenax::app
