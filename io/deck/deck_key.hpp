// DeckKey: one row of the deck's table. It has the key's name, its member of Deck, the allowed
// values and a sentence for users. The member gives the type, the member's initialiser the default.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "io/deck/deck.hpp"

namespace tenax::io {

/// A key's value within a Deck.
using DeckTarget = std::variant<std::int64_t*, double*, bool*, std::string*, AnyChoice*, AnyChoiceList*,
                                std::vector<std::int64_t>*, std::vector<double>*, std::vector<std::string>*,
                                std::vector<DataSource>*>;

/// The largest size: sizes multiply, and become 32-bit arguments of libraries.
inline constexpr double kMaxSize = 2147483647;

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;

  bool contains(double value) const;
  bool bounded() const;
  // Only if bounded():
  std::string text() const;        ///< "greater than 0", "in [1, 2147483647]"
  std::string short_text() const;  ///< without an upper bound that only guards against overflow
  /// " = TEXT is out of range: it must be …", where `text` is `value` as written; empty if the
  /// range contains it.
  std::string complaint(double value, const std::string& text) const;
};

struct DeckKey {
  std::string section, name, sentence;
  /// Where the value is. The second argument is the number of the [[inject]] entry, else 0.
  std::function<DeckTarget(Deck&, std::size_t)> target;
  Range range;
  std::vector<std::string> choices;
  std::string unit;
  std::string example_toml;  ///< shown where there is no default to show
  bool is_required = false;
  bool empty_is_zero = false;      ///< an empty list is written 0
  bool may_be_empty = false;       ///< "" besides the choices
  std::vector<std::string> kinds;  ///< the values of the section's `kind` that honour it; empty = all

  std::string full_name() const { return section + "." + name; }
  std::string type_text() const;          ///< "integer", "list of strings", …
  std::string type_with_article() const;  ///< "an integer", …

  // For the table: each sets one member and returns the row.
  DeckKey& required(std::string example);
  DeckKey& example(std::string toml);
  DeckKey& at_least(double low);
  DeckKey& above(double low);
  DeckKey& within(Range allowed);
  DeckKey& one_of(std::vector<std::string> values);
  DeckKey& in(std::string unit_text);
  DeckKey& zero_when_empty();
  DeckKey& or_empty();
  DeckKey& of_kinds(std::vector<std::string> values);
};

struct DeckSection {
  std::string name, sentence;
};

const std::vector<DeckSection>& deck_sections();
const std::vector<DeckKey>& deck_keys();  ///< the table, in the order in which decks are written
const DeckKey* find_key(const std::string& section, const std::string& name);  ///< null if unknown
bool is_section(const std::string& name);

/// `value` with a point or an exponent, so that TOML reads a float.
std::string toml_number(double value);

/// The value in `target` as TOML. Reading it back gives the same value.
std::string toml_text(const DeckTarget& target, const DeckKey& key);

}  // namespace tenax::io
