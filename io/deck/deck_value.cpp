#include <algorithm>
#include <cmath>

#include "io/deck/toml.hpp"
#include "io/json.hpp"
#include "io/text.hpp"

namespace tenax::io {
namespace {

using Problem = std::optional<std::string>;

std::string describe(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return "the string " + excerpt(json_string(*text));
  if (const auto whole = node.value_exact<std::int64_t>()) return "the integer " + std::to_string(*whole);
  if (const auto real = node.value_exact<double>()) {
    return std::isfinite(*real) ? "the number " + toml_number(*real) : "infinity or not-a-number";
  }
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  if (node.is_array()) return "a list";
  return node.is_table() ? "a table" : "a date or time";
}

/// Reads one TOML value for one key.
class Assigner {
 public:
  Assigner(const DeckKey& key, std::string name, const toml::node& node)
      : key_(key), name_(std::move(name)), node_(node) {}

  Problem operator()(std::int64_t* target) const { return read(node_, *target); }
  Problem operator()(double* target) const { return read(node_, *target); }
  Problem operator()(std::string* target) const { return read(node_, *target); }
  Problem operator()(AnyChoice* target) const { return read(node_, *target); }
  Problem operator()(AnyChoiceList* target) const;
  Problem operator()(bool* target) const { return read(node_, *target); }
  Problem operator()(std::vector<std::int64_t>* target) const { return read_one_or_list(*target); }
  Problem operator()(std::vector<double>* target) const { return read_one_or_list(*target); }
  Problem operator()(std::vector<std::string>* target) const {
    return node_.is_array() ? read_one_or_list(*target) : wrong_type(node_);
  }
  Problem operator()(std::vector<DataSource>* target) const;

 private:
  Problem read(const toml::node& node, std::int64_t& value) const;
  Problem read(const toml::node& node, double& value) const;
  Problem read(const toml::node& node, bool& value) const;
  Problem read(const toml::node& node, std::string& value) const;
  Problem read(const toml::node& node, AnyChoice& value) const;
  Problem read(const toml::node& node, DataSource& source) const;
  Problem read(const toml::table& table, DataSource& source) const;
  template <class T>
  Problem read_one_or_list(std::vector<T>& values) const;

  Problem not_a_choice(const std::string& value) const;
  Problem wrong_type(const toml::node& node) const {
    return name_ + " must be " + key_.type_with_article() + ", not " + describe(node);
  }
  Problem check_range(double value, const std::string& text) const {
    const std::string complaint = key_.range.complaint(value, text);
    return complaint.empty() ? Problem{} : name_ + complaint;
  }

  const DeckKey& key_;
  const std::string name_;
  const toml::node& node_;
};

Problem Assigner::read(const toml::node& node, std::int64_t& value) const {
  const auto given = node.value_exact<std::int64_t>();
  if (!given) return wrong_type(node);
  value = *given;
  return check_range(static_cast<double>(value), std::to_string(value));
}

Problem Assigner::read(const toml::node& node, double& value) const {
  if (const auto whole = node.value_exact<std::int64_t>()) {
    value = static_cast<double>(*whole);
  } else if (const auto real = node.value_exact<double>(); real && std::isfinite(*real)) {
    value = *real;
  } else {
    return wrong_type(node);
  }
  return check_range(value, number_text(value));
}

Problem Assigner::read(const toml::node& node, bool& value) const {
  const auto given = node.value_exact<bool>();
  if (!given) return wrong_type(node);
  value = *given;
  return {};
}

Problem Assigner::read(const toml::node& node, std::string& value) const {
  const auto given = node.value_exact<std::string>();
  if (!given) return wrong_type(node);
  value = *given;
  const auto& choices = key_.choices;
  if (key_.may_be_empty && value.empty()) return {};
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return {};
  return not_a_choice(value);
}

Problem Assigner::read(const toml::node& node, AnyChoice& value) const {
  const auto given = node.value_exact<std::string>();
  if (!given) return wrong_type(node);
  return value.set(*given) ? Problem{} : not_a_choice(*given);
}

Problem Assigner::not_a_choice(const std::string& value) const {
  std::string known;
  for (const auto& choice : key_.choices) known += (known.empty() ? "" : ", ") + json_string(choice);
  return name_ + " = " + excerpt(json_string(value)) + " is not one of " + known;
}

Problem Assigner::read(const toml::node& node, DataSource& source) const {
  source = {};
  const auto* table = node.as_table();
  if (const auto file = node.value_exact<std::string>()) {
    source.file = *file;
  } else if (!table) {
    return wrong_type(node);
  } else if (auto problem = read(*table, source)) {
    return problem;
  }
  if (source.file.empty()) return name_ + " has an entry without a file";
  return {};
}

Problem Assigner::read(const toml::table& table, DataSource& source) const {
  for (const auto& [member, value] : table) {
    if (member.str() == "file" && value.is_string()) {
      source.file = *value.value_exact<std::string>();
    } else if (member.str() == "weight" && value.is_number()) {
      source.weight = *value.value<double>();
      if (!(source.weight > 0 && std::isfinite(source.weight)))
        return name_ + " has an entry whose weight is not greater than 0";
    } else {
      return name_ + " has an entry that is not {file = \"...\", weight = number}";
    }
  }
  return {};
}

template <class T>
Problem Assigner::read_one_or_list(std::vector<T>& values) const {
  values.clear();
  const auto* list = node_.as_array();
  if (!list) return read(node_, values.emplace_back());
  for (const auto& element : *list) {
    if (auto problem = read(element, values.emplace_back())) return problem;
  }
  return {};
}

Problem Assigner::operator()(AnyChoiceList* target) const {
  std::vector<std::string> words;
  if (!node_.is_array()) return wrong_type(node_);
  if (auto problem = read_one_or_list(words)) return problem;
  target->clear();
  for (const std::string& word : words) {
    if (const Words listed = target->listed(); std::find(listed.begin(), listed.end(), word) != listed.end())
      return name_ + " names " + json_string(word) + " twice";
    target->add(word);
  }
  return {};
}

Problem Assigner::operator()(std::vector<DataSource>* target) const {
  const auto file = node_.value_exact<std::string>();
  if (!file) return node_.is_array() ? read_one_or_list(*target) : wrong_type(node_);
  target->clear();
  if (!file->empty()) target->push_back({*file});
  return {};
}

/// The first control character of the strings in `node`, by name; empty if there is none.
std::string control_character_in(const toml::node& node) {
  std::string found;
  if (const auto text = node.value_exact<std::string_view>()) {
    for (std::string_view rest = *text; !rest.empty() && found.empty(); rest.remove_prefix(1))
      if (control_length(rest) > 0) found = character_name(rest);
  } else if (const auto* list = node.as_array()) {
    for (const auto& element : *list)
      if (found.empty()) found = control_character_in(element);
  } else if (const auto* table = node.as_table()) {
    for (const auto& [member, value] : *table)
      if (found.empty()) found = control_character_in(value);
  }
  return found;
}

}  // namespace

Problem assign(const DeckTarget& target, const DeckKey& key, const std::string& name,
               const toml::node& node) {
  // They end a path early (NUL), or disturb the terminal that a name is shown on.
  if (const std::string control = control_character_in(node); !control.empty())
    return name + " holds the control character " + control + ", which no string of a deck may";
  return std::visit(Assigner(key, name, node), target);
}

}  // namespace tenax::io
