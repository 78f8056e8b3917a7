#include "io/deck_origins.hpp"

#include "kernels/error.hpp"

namespace tenax::io {

using kernels::Error;
using kernels::Scope;

void Origins::fail_at(Position position, const std::string& message) const {
  throw Error(Scope::usage, deck_label_ + ":" + std::to_string(position.line) + ":" +
                                std::to_string(position.column) + ": " + message);
}

void Origins::fail_on_command_line(const std::string& key, const std::string& message) {
  throw Error(Scope::usage, "command line: " + key + ": " + message);
}

void Origins::fail(const std::vector<std::string>& keys, const std::string& message) const {
  std::optional<Position> in_deck;
  for (const auto& key : keys) {
    const auto found = position_of_key_.find(key);
    if (found == position_of_key_.end()) continue;
    if (!found->second) fail_on_command_line(key, message);
    if (!in_deck) in_deck = found->second;
  }
  const auto header = position_of_key_.find(keys.front().substr(0, keys.front().rfind('.')));
  if (!in_deck && header != position_of_key_.end()) in_deck = header->second;
  fail_at(in_deck.value_or(Position{}), message);
}

}  // namespace tenax::io
