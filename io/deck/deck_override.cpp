#include "io/deck/deck_override.hpp"

#include <algorithm>
#include <charconv>

#include "io/deck/deck_origins.hpp"
#include "io/deck/deck_syntax.hpp"
#include "io/json.hpp"
#include "io/utf8.hpp"

namespace tenax::io {
namespace {

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
  const bool wants_strings = wants_files || std::holds_alternative<std::vector<std::string>*>(target);
  return wants_strings && is_list && is_bare ? quote_elements(value) : value;
}

}  // namespace

std::string Override::name() const {
  return section + "." + (inject_index >= 0 ? std::to_string(inject_index) + "." : "") + key;
}

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

toml::table override_value(const Override& given, const DeckKey& key) {
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

}  // namespace tenax::io
