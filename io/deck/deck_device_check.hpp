// What is wrong with a deck's [device], and with keys that another kind of device or fault would honour.
#pragma once

#include "io/deck/deck.hpp"
#include "io/deck/deck_origins.hpp"

namespace tenax::io {

/// A key that only one value of its section's `kind` honours must be left at its default with the others.
void check_kinds(const Deck& deck, const Origins& origins);

/// The emulated device's times: each is there, as one number or one per stage.
void check_device(const Deck& deck, const Origins& origins);

/// A list that holds one number, or one per stage.
void check_per_stage(const Deck& deck, const Origins& origins, const std::string& key, std::size_t entries);

}  // namespace tenax::io
