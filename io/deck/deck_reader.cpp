#include "io/deck/deck_reader.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <tuple>

#include "io/deck/deck_key.hpp"
#include "io/deck/deck_origins.hpp"
#include "io/deck/deck_suggest.hpp"
#include "io/deck/toml.hpp"
#include "io/json.hpp"
#include "io/text.hpp"

namespace tenax::io {
namespace {

/// "section.key=value" of the command line.
struct Override {
  std::string section, key, value;
  int inject_index = -1;  ///< of inject.N.key=value

  /// "section.key", "inject.N.key"
  std::string name() const {
    return section + "." + (inject_index >= 0 ? std::to_string(inject_index) + "." : "") + key;
  }
};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_name(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-';
  });
}

bool is_quoted(const std::string& text) { return text.starts_with('"') || text.starts_with('\''); }

/// "[a, b]" with bare elements, each in quotes.
std::string quote_elements(const std::string& list) {
  std::string quoted;
  std::string rest = trimmed(list.substr(1, list.size() - 2));
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    if (!quoted.empty()) quoted += ", ";
    quoted += json_string(trimmed(rest.substr(0, comma)));
    rest = comma == rest.size() ? "" : trimmed(rest.substr(comma + 1));
  }
  return "[" + quoted + "]";
}

/// What a deck would say for `value`, given the key's type.
std::string as_toml(const std::string& value, const DeckTarget& target) {
  const bool is_list = value.starts_with('[') && value.ends_with(']');
  if (std::holds_alternative<std::string*>(target) || std::holds_alternative<AnyChoice*>(target))
    return is_quoted(value) ? value : json_string(value);
  const bool is_bare = value.find_first_of("\"'{") == std::string::npos;
  const bool wants_files = std::holds_alternative<std::vector<DataSource>*>(target);
  if (wants_files && !is_list) return is_quoted(value) ? value : json_string(value);
  const bool wants_strings = wants_files || std::holds_alternative<std::vector<std::string>*>(target) ||
                             std::holds_alternative<AnyChoiceList*>(target);
  return wants_strings && is_list && is_bare ? quote_elements(value) : value;
}

/// Splits it. Throws Error(usage) "command line: TEXT: …" if it is no override.
Override parse_override(const std::string& text) {
  const auto malformed = [&]() { Origins::fail_on_command_line(text, "expected section.key=value"); };
  const auto equals = text.find('=');
  const auto dot = text.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals) malformed();

  Override given;
  given.section = trimmed(text.substr(0, dot));
  given.key = trimmed(text.substr(dot + 1, equals - dot - 1));
  given.value = trimmed(text.substr(equals + 1));
  if (given.section == "inject") {
    const char* end = given.key.data() + given.key.size();
    const auto index = std::from_chars(given.key.data(), end, given.inject_index);
    if (index.ec != std::errc{} || given.inject_index < 0 || index.ptr == end || *index.ptr != '.') {
      Origins::fail_on_command_line(text, "expected inject.N.key=value, N counting from 0");
    }
    given.key = std::string(index.ptr + 1, end);
  }
  if (!is_name(given.section) || !is_name(given.key)) malformed();
  return given;
}

/// The value in a table under the key "value". A string may lack its quotes, and so may those in a list.
/// Throws Error(usage) if it is not a value.
toml::table override_value(const Override& given, const DeckKey& key) {
  if (!is_utf8(given.value))
    Origins::fail_on_command_line(given.name(), excerpt(given.value) + " is not UTF-8, which decks are");
  Deck any;
  any.inject.resize(1);
  toml::table table;
  try {
    table = parse_toml("value = " + as_toml(given.value, key.target(any, 0)));
  } catch (const SyntaxFault&) {
    table.clear();
  }
  if (table.size() == 1) return table;
  Origins::fail_on_command_line(given.name(),
                                excerpt(json_string(given.value)) + " is not " + key.type_with_article());
}

Position position_of(const toml::source_region& region) { return {region.begin.line, region.begin.column}; }

std::string unknown_key(const std::string& name, const std::string& section, const std::string& key) {
  return "unknown key " + excerpt(name) + did_you_mean(nearest_key(section, key));
}

std::string unknown_section(const std::string& name) {
  const std::string nearest = nearest_section(name);
  return "unknown section [" + excerpt(name) + "]" + did_you_mean(nearest.empty() ? "" : "[" + nearest + "]");
}

}  // namespace

struct DeckReader::Entry {
  std::string section, key, name;  ///< name: "section.key", "inject.0.key"
  std::size_t index = 0;           ///< of an [[inject]] entry
  Position position;
  const toml::node* value = nullptr;
};

void DeckReader::read(const std::string& text) {
  toml::table document;
  try {
    document = parse_toml(text);
  } catch (const SyntaxFault& fault) {
    origins_.fail_at(fault.position, fault.sentence);
  }
  std::vector<Entry> entries = entries_of(document);
  // toml++ sorts by name; people read from the top.
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.position.line, a.position.column) < std::tie(b.position.line, b.position.column);
  });
  for (const auto& entry : entries) store(entry);
}

std::vector<DeckReader::Entry> DeckReader::entries_of(const toml::table& document) {
  std::vector<Entry> entries;
  for (const auto& [name, node] : document) {
    const std::string section(name.str());
    if (!is_section(section)) fail_unknown_section(name, node);
    origins_.set_in_deck(section, position_of(node.is_table() ? node.source() : name.source()));
    if (section == "inject") {
      add_faults(node, entries);
    } else if (const auto* table = node.as_table()) {
      add_entries(section, section, *table, 0, entries);
    } else {
      origins_.fail_at(position_of(name.source()), section + " must be a section, [" + section + "]");
    }
  }
  return entries;
}

void DeckReader::fail_unknown_section(const toml::key& name, const toml::node& node) const {
  const std::string text(name.str());
  const Position position = position_of(name.source());
  if (node.is_table() || node.is_array()) origins_.fail_at(position, unknown_section(text));
  origins_.fail_at(
      position, "key " + excerpt(text) + " is outside of any section" + did_you_mean(nearest_key("", text)));
}

void DeckReader::add_faults(const toml::node& node, std::vector<Entry>& entries) {
  const auto* list = node.as_array();
  const bool are_tables =
      list && std::all_of(list->begin(), list->end(), [](const auto& fault) { return fault.is_table(); });
  if (!are_tables) origins_.fail({"inject"}, "inject must be sections, each headed [[inject]]");
  deck_.inject.resize(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string name = "inject." + std::to_string(i);
    origins_.set_in_deck(name, position_of(list->get(i)->source()));
    add_entries("inject", name, *list->get(i)->as_table(), i, entries);
  }
}

void DeckReader::add_entries(const std::string& section, const std::string& prefix, const toml::table& table,
                             std::size_t index, std::vector<Entry>& entries) {
  for (const auto& [key, value] : table) {
    const std::string text(key.str());
    entries.push_back({section, text, prefix + "." + text, index, position_of(key.source()), &value});
  }
}

void DeckReader::store(const Entry& entry) {
  const DeckKey* key = find_key(entry.section, entry.key);
  if (!key) origins_.fail_at(entry.position, unknown_key(entry.name, entry.section, entry.key));
  origins_.set_in_deck(entry.name, entry.position);
  const auto problem = assign(key->target(deck_, entry.index), *key, entry.name, *entry.value);
  if (problem) origins_.fail_at(entry.position, *problem);
}

void DeckReader::apply_override(const std::string& text) {
  const Override given = parse_override(text);
  const std::string name = given.name();
  if (!is_section(given.section)) Origins::fail_on_command_line(name, unknown_section(given.section));
  const DeckKey* key = find_key(given.section, given.key);
  if (!key) Origins::fail_on_command_line(name, unknown_key(name, given.section, given.key));

  const auto index = static_cast<std::size_t>(std::max(given.inject_index, 0));
  if (given.inject_index >= 0 && index > deck_.inject.size()) {
    Origins::fail_on_command_line(
        name, "there are only " + std::to_string(deck_.inject.size()) + " [[inject]] entries before it");
  }
  if (given.inject_index >= 0 && index == deck_.inject.size()) {
    deck_.inject.emplace_back();
    origins_.set_on_command_line("inject." + std::to_string(index));
  }
  const toml::table value = override_value(given, *key);
  const auto problem = assign(key->target(deck_, index), *key, name, *value.get("value"));
  if (problem) Origins::fail_on_command_line(name, *problem);
  origins_.set_on_command_line(name);
}

bool DeckReader::may_be_absent(const DeckKey& key) const {
  if (key.section == "inject" || key.full_name() == "data.train") return true;
  if (deck_.device.kind != DeviceKind::emulated) return false;
  const auto& keys = deck_keys();
  const bool says_model = std::any_of(keys.begin(), keys.end(), [&](const DeckKey& other) {
    return other.section == "model" && origins_.is_set(other.full_name());
  });
  return key.section == "optimizer" || (key.section == "model" && !says_model);
}

void DeckReader::require_all() const {
  for (const auto& key : deck_keys()) {
    if (!key.is_required || origins_.is_set(key.full_name()) || may_be_absent(key)) continue;
    origins_.fail({key.full_name()}, key.full_name() + " is required, for example " + key.name + " = " +
                                         key.example_toml + " in [" + key.section + "]");
  }
}

}  // namespace tenax::io
