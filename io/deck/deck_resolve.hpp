// What a deck leaves open: derived defaults and absolute paths.
#pragma once

#include <filesystem>

#include "io/deck/deck.hpp"

namespace tenax::io {

/// Fills in what depends on other keys or on where the deck lies. Doing it twice changes nothing.
void resolve(Deck& deck, const std::filesystem::path& deck_file);

}  // namespace tenax::io
