// "section.key=value" on the command line: its parts, and its value as TOML.
#pragma once

#include <string>

#include "io/deck/deck_key.hpp"
#include "io/deck/toml.hpp"

namespace tenax::io {

struct Override {
  std::string section, key, value;
  int inject_index = -1;  ///< of inject.N.key=value

  std::string name() const;  ///< "section.key", "inject.N.key"
};

/// Splits. Throws Error(usage) "command line: TEXT: …" if it is no override.
Override parse_override(const std::string& text);

/// The value as TOML reads it, in a table under the key "value": a string may lack its quotes, and so may
/// those in a list. Throws Error(usage) if it is not a value.
toml::table override_value(const Override& given, const DeckKey& key);

}  // namespace tenax::io
