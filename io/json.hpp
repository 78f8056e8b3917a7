// Writes JSON lines. Numbers have their shortest round-trip form, a non-finite number is null,
// strings are escaped. Reading is io/json_parse.hpp's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenax::io {

/// The shortest decimal text that reads back as `value`, which is finite.
std::string number_text(double value);
/// `text` in quotes, escaped so that both JSON and TOML read it. Bytes that are not UTF-8 become
/// U+FFFD.
std::string json_string(std::string_view text);

/// An object under construction. Its members keep the order in which they are added; a name is
/// added once.
class JsonObject {
 public:
  JsonObject& add(std::string_view name, double value);
  JsonObject& add(std::string_view name, std::int64_t value);
  JsonObject& add(std::string_view name, int value) { return add(name, std::int64_t{value}); }
  JsonObject& add(std::string_view name, bool value);
  JsonObject& add(std::string_view name, std::string_view value);
  JsonObject& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  JsonObject& add(std::string_view name, const JsonObject& value);
  JsonObject& add(std::string_view name, const std::vector<double>& values);
  JsonObject& add(std::string_view name, const std::vector<std::int64_t>& values);
  JsonObject& add(std::string_view name, const std::vector<std::string>& values);
  JsonObject& add(std::string_view name, const std::vector<JsonObject>& values);
  /// `json` is JSON already.
  JsonObject& add_json(std::string_view name, std::string_view json);
  /// The object that text() of another one told.
  static JsonObject of_text(std::string_view text);
  /// Adds all members of `other`.
  JsonObject& append(const JsonObject& other);
  std::string text() const { return "{" + members_ + "}"; }

 private:
  template <class Value, class Text>
  JsonObject& add_array(std::string_view name, const std::vector<Value>& values, Text text_of);
  std::string members_;
};

}  // namespace tenax::io
