#include "io/deck/deck_key.hpp"

#include <algorithm>
#include <cmath>

#include "io/json.hpp"

namespace tenax::io {
namespace {

struct TypeText {
  std::string operator()(const std::int64_t*) const { return "integer"; }
  std::string operator()(const double*) const { return "number"; }
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const std::string*) const { return "string"; }
  std::string operator()(const AnyChoice*) const { return "string"; }
  std::string operator()(const AnyChoiceList*) const { return "list of strings"; }
  std::string operator()(const std::vector<std::int64_t>*) const { return "integer or list of integers"; }
  std::string operator()(const std::vector<double>*) const { return "number or list of numbers"; }
  std::string operator()(const std::vector<std::string>*) const { return "list of strings"; }
  std::string operator()(const std::vector<DataSource>*) const {
    return "file, folder, pattern, or list of these and of {file = ..., weight = ...}";
  }
};

/// Sizes as they are written in decks, not as 1e+05.
std::string bound_text(double bound) {
  constexpr double kWritten = 1e15;
  const bool is_whole = bound == std::floor(bound) && std::abs(bound) < kWritten;
  return is_whole ? std::to_string(static_cast<std::int64_t>(bound)) : number_text(bound);
}

}  // namespace

bool Range::contains(double value) const {
  const bool above_low = low_open ? value > low : value >= low;
  const bool below_high = high_open ? value < high : value <= high;
  return above_low && below_high;
}

bool Range::bounded() const { return std::isfinite(low) || std::isfinite(high); }

std::string Range::text() const {
  if (!std::isfinite(high)) return (low_open ? "greater than " : "at least ") + bound_text(low);
  return std::string("in ") + (low_open ? "(" : "[") + bound_text(low) + ", " + bound_text(high) +
         (high_open ? ")" : "]");
}

std::string Range::short_text() const {
  Range shown = *this;
  if (shown.high == kMaxSize) shown.high = std::numeric_limits<double>::infinity();
  return shown.text();
}

std::string Range::complaint(double value, const std::string& text_of_value) const {
  if (contains(value)) return {};
  return " = " + text_of_value + " is out of range: it must be " + (value > low ? text() : short_text());
}

std::string DeckKey::type_text() const {
  Deck deck;
  deck.inject.resize(1);
  return std::visit(TypeText{}, target(deck, 0));
}

std::string DeckKey::type_with_article() const {
  const std::string type = type_text();
  if (type.starts_with("true")) return type;
  return (type.starts_with("integer") ? "an " : "a ") + type;
}

DeckKey& DeckKey::required(std::string example_value) {
  is_required = true;
  example_toml = std::move(example_value);
  return *this;
}

DeckKey& DeckKey::example(std::string toml) {
  example_toml = std::move(toml);
  return *this;
}

DeckKey& DeckKey::at_least(double low) {
  range.low = low;
  return *this;
}

DeckKey& DeckKey::above(double low) {
  range.low = low;
  range.low_open = true;
  return *this;
}

DeckKey& DeckKey::within(Range allowed) {
  range = allowed;
  return *this;
}

DeckKey& DeckKey::one_of(std::vector<std::string> values) {
  choices = std::move(values);
  return *this;
}

DeckKey& DeckKey::in(std::string unit_text) {
  unit = std::move(unit_text);
  return *this;
}

DeckKey& DeckKey::zero_when_empty() {
  empty_is_zero = true;
  return *this;
}

DeckKey& DeckKey::or_empty() {
  may_be_empty = true;
  return *this;
}

DeckKey& DeckKey::of_kinds(std::vector<std::string> values) {
  kinds = std::move(values);
  return *this;
}

const DeckKey* find_key(const std::string& section, const std::string& name) {
  const auto& keys = deck_keys();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const DeckKey& key) {
    return key.section == section && key.name == name;
  });
  return found == keys.end() ? nullptr : &*found;
}

bool is_section(const std::string& name) {
  const auto& sections = deck_sections();
  return std::any_of(sections.begin(), sections.end(),
                     [&](const auto& section) { return section.name == name; });
}

}  // namespace tenax::io
