// TOML values into the targets of a Deck.
#pragma once

#include <optional>
#include <string>

#include "io/deck/deck_key.hpp"
#include "io/deck/toml.hpp"

namespace tenax::io {

/// Stores `node` in `target`. Returns what is wrong with it (type, range, choice) as a sentence that names the
/// key, or nothing. `name`: "section.key" as the user would write it.
std::optional<std::string> assign(const DeckTarget& target, const DeckKey& key, const std::string& name,
                                  const toml::node& node);

}  // namespace tenax::io
