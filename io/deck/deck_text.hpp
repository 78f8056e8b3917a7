// Values of a Deck as TOML.
#pragma once

#include <string>

#include "io/deck/deck_key.hpp"

namespace tenax::io {

/// With a point or an exponent, so that TOML reads a float whatever its size.
std::string toml_number(double value);

/// The value in `target` as TOML; reading it back gives the same value.
std::string toml_text(const DeckTarget& target, const DeckKey& key);

}  // namespace tenax::io
