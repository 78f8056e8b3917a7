// What is written about decks: the resolved deck, the reference deck and the help, all by walking the table.
#include "io/deck/deck_key.hpp"

#include <sstream>

#include "io/json.hpp"

namespace tenax::io {
namespace {

constexpr std::size_t kColumns = 100;

std::string scalar(std::int64_t value) { return std::to_string(value); }
std::string scalar(const std::string& value) { return json_string(value); }

std::string scalar(double value) { return toml_number(value); }

std::string scalar(const DataSource& source) {
  if (source.weight == 0) return scalar(source.file);
  return "{file = " + scalar(source.file) + ", weight = " + scalar(source.weight) + "}";
}

struct TomlText {
  bool empty_is_zero = false;

  std::string operator()(const std::int64_t* value) const { return scalar(*value); }
  std::string operator()(const double* value) const { return scalar(*value); }
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const std::string* value) const { return scalar(*value); }
  std::string operator()(const AnyChoice* value) const { return scalar(value->word()); }
  std::string operator()(const AnyChoiceList* value) const { return list(value->listed()); }
  std::string operator()(const std::vector<DataSource>* values) const {
    if (values->size() == 1 && values->front().weight == 0) return scalar(values->front().file);
    return list(*values);
  }
  template <class T>
  std::string operator()(const std::vector<T>* values) const {
    return values->empty() && empty_is_zero ? "0" : list(*values);
  }
  template <class T>
  static std::string list(const std::vector<T>& values) {
    std::string text;
    for (const auto& value : values) text += (text.empty() ? "" : ", ") + scalar(value);
    return "[" + text + "]";
  }
};

void write_section(std::ostream& out, const std::string& section, const std::string& header, Deck& deck,
                   std::size_t index) {
  out << (out.tellp() > 0 ? "\n" : "") << header << "\n";
  for (const auto& key : deck_keys()) {
    if (key.section == section) out << key.name << " = " << toml_text(key.target(deck, index), key) << "\n";
  }
}

/// "integer, at least 1, in steps; required" and the like.
std::string facts_of(const DeckKey& key) {
  std::string facts = key.type_text();
  if (!key.choices.empty()) {
    std::string words;
    for (const auto& choice : key.choices) words += (words.empty() ? "" : " | ") + json_string(choice);
    facts = facts.starts_with("list") ? "list of " + words : words;
  }
  if (key.range.bounded()) facts += ", " + key.range.short_text();
  if (!key.unit.empty()) facts += ", in " + key.unit;
  if (key.is_required) return facts + "; required";
  Deck defaults;
  defaults.inject.resize(1);
  const std::string value = toml_text(key.target(defaults, 0), key);
  return value == "\"\"" || value == "[]" ? facts : facts + "; default " + value;
}

/// `text` broken at blanks into lines of kColumns, each after `indent`.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::istringstream words(text);
  std::string lines, line, word;
  while (words >> word) {
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > kColumns) {
      lines += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + indent + line + "\n";
}

}  // namespace

std::string toml_number(double value) {
  const std::string text = number_text(value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string toml_text(const DeckTarget& target, const DeckKey& key) {
  return std::visit(TomlText{key.empty_is_zero}, target);
}

std::string to_toml(const Deck& deck) {
  Deck copy = deck;  // targets point into a Deck that may be written
  std::ostringstream out;
  for (const auto& section : deck_sections()) {
    if (section.name == "model" && copy.model.is_placeholder) continue;
    if (section.name != "inject") write_section(out, section.name, "[" + section.name + "]", copy, 0);
  }
  for (std::size_t i = 0; i < copy.inject.size(); ++i) write_section(out, "inject", "[[inject]]", copy, i);
  return out.str();
}

std::string deck_help() {
  std::string text =
      "A deck is a TOML file. On the command line, section.key=value replaces a key's value\n"
      "(inject.N.key=value that of the N-th [[inject]] entry, from 0).\n";
  for (const auto& section : deck_sections()) {
    const bool many = section.name == "inject";
    text += "\n" + std::string(many ? "[[" : "[") + section.name + (many ? "]]" : "]") + "  " +
            section.sentence + "\n";
    for (const auto& key : deck_keys()) {
      if (key.section != section.name) continue;
      text += "  " + key.name + "\n" + wrapped(facts_of(key), "      ") + wrapped(key.sentence, "      ");
    }
  }
  return text;
}

std::string reference_toml() {
  std::string text =
      "# Every key of a deck, with type, range, unit and default. A line that is commented out shows an\n"
      "# example; the others hold the default, or for a required key an example. `tenax --deck-help` says "
      "the\n"
      "# same. This file is written by tenax; do not edit it.\n";
  Deck defaults;
  defaults.inject.resize(1);
  for (const auto& section : deck_sections()) {
    const bool many = section.name == "inject";
    text += "\n# " + section.sentence + "\n" + (many ? "# [[inject]]" : "[" + section.name + "]") + "\n";
    for (const auto& key : deck_keys()) {
      if (key.section != section.name) continue;
      const std::string value =
          key.example_toml.empty() ? toml_text(key.target(defaults, 0), key) : key.example_toml;
      const bool is_comment = many || (!key.is_required && !key.example_toml.empty());
      text += "\n" + wrapped(key.sentence, "# ") + wrapped(facts_of(key), "# ");
      text += (is_comment ? "# " : "") + key.name + " = " + value + "\n";
    }
  }
  return text;
}

}  // namespace tenax::io
