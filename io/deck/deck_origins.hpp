// Origins: where each key of a deck was set. A fault in its value is reported there.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenax::io {

struct Position {
  std::size_t line = 1, column = 1;
};

/// Keys are "section.key", or "inject.0.key" for [[inject]] entries. A section's header is
/// "section".
class Origins {
 public:
  explicit Origins(std::string deck_label) : deck_label_(std::move(deck_label)) {}

  void set_in_deck(const std::string& key, Position position) { position_of_key_[key] = position; }
  /// An override wins over the deck.
  void set_on_command_line(const std::string& key) { position_of_key_[key] = std::nullopt; }
  bool is_set(const std::string& key) const { return position_of_key_.contains(key); }

  /// The beginning of fail()'s message: "DECK:LINE:COLUMN: " or "command line: section.key: ".
  std::string place_of(const std::vector<std::string>& keys) const;
  /// Throws Error(usage) at the first of `keys` that an override set. Without one: at the first
  /// that the deck set, at the header of the first key's section, or at the start of the deck.
  [[noreturn]] void fail(const std::vector<std::string>& keys, const std::string& message) const;
  [[noreturn]] void fail_at(Position position, const std::string& message) const;
  [[noreturn]] static void fail_on_command_line(const std::string& key, const std::string& message);

 private:
  std::string place_at(Position position) const;

  std::string deck_label_;
  std::map<std::string, std::optional<Position>> position_of_key_;  ///< nothing = the command line
};

}  // namespace tenax::io
