// What is wrong with the [[inject]] entries of a deck.
#pragma once

#include "io/deck/deck.hpp"
#include "io/deck/deck_origins.hpp"

namespace tenax::io {

/// Throws Error(usage) at the most relevant key. Opens no file.
void check_faults(const Deck& deck, const Origins& origins);

/// Reads every delay trace once: Error(rank) at the key that names a file that is missing or malformed.
void check_traces(const Deck& deck, const Origins& origins);

}  // namespace tenax::io
