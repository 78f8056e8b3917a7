#include "io/json.hpp"

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>

#include "io/text.hpp"

namespace tenax::io {
namespace {

std::string escaped_control(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(c);
  return std::string("\\u00") + kHex[value >> 4] + kHex[value & 15];
}

}  // namespace

std::string number_text(double value) {
  assert(std::isfinite(value));
  std::array<char, 32> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), result.ptr};
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += escaped_control(c);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

JsonObject& JsonObject::add_json(std::string_view name, std::string_view json) {
  if (!members_.empty()) members_ += ", ";
  members_ += json_string(name);
  members_ += ": ";
  members_ += json;
  return *this;
}

JsonObject& JsonObject::add(std::string_view name, double value) {
  return add_json(name, std::isfinite(value) ? number_text(value) : "null");
}

JsonObject& JsonObject::add(std::string_view name, std::int64_t value) {
  return add_json(name, std::to_string(value));
}

JsonObject& JsonObject::add(std::string_view name, bool value) {
  return add_json(name, value ? "true" : "false");
}

JsonObject& JsonObject::add(std::string_view name, std::string_view value) {
  return add_json(name, json_string(value));
}

JsonObject& JsonObject::add(std::string_view name, const JsonObject& value) {
  return add_json(name, value.text());
}

template <class Value, class Text>
JsonObject& JsonObject::add_array(std::string_view name, const std::vector<Value>& values, Text text_of) {
  std::string text = "[";
  for (const Value& value : values) text += (text.size() > 1 ? ", " : "") + text_of(value);
  return add_json(name, text + "]");
}

JsonObject& JsonObject::add(std::string_view name, const std::vector<double>& values) {
  return add_array(name, values,
                   [](double value) { return std::isfinite(value) ? number_text(value) : "null"; });
}

JsonObject& JsonObject::add(std::string_view name, const std::vector<std::int64_t>& values) {
  return add_array(name, values, [](std::int64_t value) { return std::to_string(value); });
}

JsonObject& JsonObject::add(std::string_view name, const std::vector<std::string>& values) {
  return add_array(name, values, [](const std::string& value) { return json_string(value); });
}

JsonObject& JsonObject::add(std::string_view name, const std::vector<JsonObject>& values) {
  return add_array(name, values, [](const JsonObject& value) { return value.text(); });
}

JsonObject JsonObject::of_text(std::string_view text) {
  assert(text.starts_with('{') && text.ends_with('}'));
  JsonObject object;
  object.members_ = text.substr(1, text.size() - 2);
  return object;
}

JsonObject& JsonObject::append(const JsonObject& other) {
  if (!members_.empty() && !other.members_.empty()) members_ += ", ";
  members_ += other.members_;
  return *this;
}

}  // namespace tenax::io
