// DeckReader: turns a deck's text and overrides into a Deck. It checks names and values one by one,
// not against each other.
#pragma once

#include <string>

#include "io/deck/deck_key.hpp"
#include "io/deck/deck_origins.hpp"
#include "io/deck/toml.hpp"

namespace tenax::io {

class DeckReader {
 public:
  /// `label`: the deck as messages name it.
  explicit DeckReader(std::string label) : origins_(std::move(label)) {}

  /// Reads a deck's text. Throws Error(usage) at its first fault.
  void read(const std::string& text);
  /// Applies "section.key=value". Throws Error(usage) "command line: …".
  void apply_override(const std::string& text);
  /// Throws Error(usage) at the section of a required key that was not set. check_deck() looks
  /// after [[inject]], [device] and data.train.
  void require_all() const;

  Deck& deck() { return deck_; }
  const Origins& origins() const { return origins_; }

 private:
  struct Entry;  ///< one key of the text
  std::vector<Entry> entries_of(const toml::table& document);
  void add_entries(const std::string& section, const std::string& prefix, const toml::table& table,
                   std::size_t index, std::vector<Entry>& entries);
  void add_faults(const toml::node& node, std::vector<Entry>& entries);
  [[noreturn]] void fail_unknown_section(const toml::key& name, const toml::node& node) const;
  void store(const Entry& entry);
  bool may_be_absent(const DeckKey& key) const;

  Origins origins_;
  Deck deck_;
};

}  // namespace tenax::io
