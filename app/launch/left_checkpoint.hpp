// The checkpoint that replicas complete while no supervisor gives it its place: the one that had to has gone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/deck/deck.hpp"

namespace tenax::app {

/// Gives the newest one its place that is complete (its seal is whole) and of more steps than all that have theirs.
/// Its writer is in the ledger's last epoch: then none of its steps is void. Removes no other. Returns its name;
/// nothing where there is none. No replica of the run lives. Throws kernels::Error: rank where it cannot be read or renamed,
/// job where the ledger contradicts itself.
std::optional<std::filesystem::path> place_left_checkpoint(const io::Deck& deck);

/// The same where the run goes on, or ends by an error: of what `writer` (without one, whoever) has left, which is of no
/// more steps than the ledger has. Others may live.
std::optional<std::filesystem::path> place_recorded_checkpoint(const io::Deck& deck,
                                                               const std::optional<std::string>& writer = {});

}  // namespace tenax::app
