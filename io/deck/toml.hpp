// TOML as decks use it: a text's table, and a table's value for a key.
//
// This header is the only way to toml++. The library is compiled in toml.cpp alone; no shared
// library is needed at run time.
#pragma once

#define TOML_HEADER_ONLY 0
// 3.3.0 asserts on some malformed keys before it reports them; a deck must not abort a debug build.
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <optional>
#include <string>

#include "io/deck/deck_key.hpp"
#include "io/deck/deck_origins.hpp"

namespace tenax::io {

/// A fault in a text, and where it is.
struct SyntaxFault {
  Position position;
  std::string sentence;
};

/// Throws SyntaxFault where `text` is not TOML, where a character beyond ASCII stands outside of
/// quotes and comments, and where a key has more parts than a recursion could bear. (TOML allows no
/// such character, and toml++ 3.3 runs into undefined behaviour at it.)
toml::table parse_toml(const std::string& text);

/// Stores `node` in `target`. Returns the fault in its type, range or choice as a sentence, if there
/// is one. `name` is the key as the user would write it: "section.key".
std::optional<std::string> assign(const DeckTarget& target, const DeckKey& key, const std::string& name,
                                  const toml::node& node);

}  // namespace tenax::io
