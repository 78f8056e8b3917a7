// One row of the deck's table: a key, where its value lives in a Deck, what it may be and what to say of it.
// Its type is that of the Deck's member, its default the member's initialiser.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "io/deck/deck.hpp"

namespace tenax::io {

/// Where a key's value lives in a Deck.
using DeckTarget =
    std::variant<std::int64_t*, double*, bool*, std::string*, AnyChoice*, std::vector<std::int64_t>*,
                 std::vector<double>*, std::vector<std::string>*, std::vector<DataSource>*>;

/// Sizes multiply, and end as 32-bit arguments of libraries.
inline constexpr double kMaxSize = 2147483647;

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;

  bool contains(double value) const;
  bool bounded() const;
  // Only if bounded():
  std::string text() const;        ///< "greater than 0", "in [1, 2147483647]"
  std::string short_text() const;  ///< the same without an upper bound that only guards against overflow
  /// " = TEXT is out of range: it must be …", for a `value` written as `text`; empty if it contains it.
  std::string complaint(double value, const std::string& text) const;
};

/// A key that is known but whose machinery comes with later work.
struct Later {
  std::vector<std::string> values;  ///< what is refused; empty = everything but the default
  std::string reason;               ///< "…: it trains one replica"
};

struct DeckKey {
  std::string section, name, sentence;
  std::function<DeckTarget(Deck&, std::size_t)>
      target;  ///< the index counts [[inject]] entries, else it is 0
  Range range;
  std::vector<std::string> choices;
  std::string unit;
  std::string example_toml;  ///< shown where there is no default to show
  bool is_required = false;
  bool empty_is_zero = false;  ///< an empty list is written 0
  bool may_be_empty = false;   ///< "" besides the choices
  Later later;
  std::string kind;  ///< honoured only where the section's key `kind` has this value; empty = always

  std::string full_name() const { return section + "." + name; }
  std::string type_text() const;          ///< "integer", "list of strings", …
  std::string type_with_article() const;  ///< "an integer", …

  // For the table: each sets what it says and returns the row.
  DeckKey& required(std::string example);
  DeckKey& example(std::string toml);
  DeckKey& at_least(double low);
  DeckKey& above(double low);
  DeckKey& within(Range allowed);
  DeckKey& one_of(std::vector<std::string> values);
  DeckKey& in(std::string unit_text);
  DeckKey& zero_when_empty();
  DeckKey& or_empty();
  DeckKey& of_kind(std::string value);
  DeckKey& comes_later(std::string reason, std::vector<std::string> values = {});
};

struct DeckSection {
  std::string name, sentence;
};

const std::vector<DeckSection>& deck_sections();
const std::vector<DeckKey>& deck_keys();  ///< the table, in the order in which decks are written
const DeckKey* find_key(const std::string& section, const std::string& name);  ///< null if unknown
bool is_section(const std::string& name);

}  // namespace tenax::io
