// What is wrong with a deck as a whole: keys against each other, and keys this version does not honour.
#pragma once

#include "io/deck/deck.hpp"
#include "io/deck/deck_origins.hpp"

namespace tenax::io {

/// All of it is seen from the deck alone: no file is opened. Throws Error(usage) at the most relevant key.
void check_deck(const Deck& deck, const Origins& origins);

}  // namespace tenax::io
