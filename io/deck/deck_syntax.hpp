// TOML into a table, after a look at what the library that reads it must not be given.
#pragma once

#include <string>

#include "io/deck/deck_origins.hpp"
#include "io/deck/toml.hpp"

namespace tenax::io {

/// What is wrong with a text, and where.
struct SyntaxFault {
  Position position;
  std::string sentence;
};

/// Throws SyntaxFault if `text` is not TOML, if a character beyond ASCII stands outside of quotes and comments (where TOML
/// has none, and toml++ 3.3 runs into undefined behaviour), or if a key has more parts than a recursion could bear.
toml::table parse_toml(const std::string& text);

}  // namespace tenax::io
