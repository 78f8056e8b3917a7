#include "io/deck/deck_origins.hpp"

#include "io/text.hpp"
#include "kernels/error.hpp"

namespace tenax::io {

using kernels::Error;
using kernels::Scope;

namespace {

/// Messages quote what the user wrote, line ends included, however long it is.
std::string message_text(const std::string& text) { return excerpt(text, kLongestMessage); }

}  // namespace

std::string Origins::place_at(Position position) const {
  return deck_label_ + ":" + std::to_string(position.line) + ":" + std::to_string(position.column) + ": ";
}

std::string Origins::place_of(const std::vector<std::string>& keys) const {
  std::optional<Position> in_deck;
  for (const auto& key : keys) {
    const auto found = position_of_key_.find(key);
    if (found == position_of_key_.end()) continue;
    if (!found->second) return "command line: " + excerpt(key) + ": ";
    if (!in_deck) in_deck = found->second;
  }
  const auto header = position_of_key_.find(keys.front().substr(0, keys.front().rfind('.')));
  if (!in_deck && header != position_of_key_.end()) in_deck = header->second;
  return place_at(in_deck.value_or(Position{}));
}

void Origins::fail_at(Position position, const std::string& message) const {
  throw Error(Scope::usage, place_at(position) + message_text(message));
}

void Origins::fail_on_command_line(const std::string& key, const std::string& message) {
  throw Error(Scope::usage, "command line: " + excerpt(key) + ": " + message_text(message));
}

void Origins::fail(const std::vector<std::string>& keys, const std::string& message) const {
  throw Error(Scope::usage, place_of(keys) + message_text(message));
}

}  // namespace tenax::io
