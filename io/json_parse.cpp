#include "io/json_parse.hpp"

#include <algorithm>
#include <fstream>
#include <vector>

#include "io/text.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;

std::string place_in(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);  // the library counts from 1
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // 0 where there is none
  return "line " + std::to_string(line) + ", column " + std::to_string(before.size() - line_begin + 1);
}

/// Builds the value from the parser's events. The library's own builder with a callback takes time that grows with the
/// square of an object's length.
class Builder final : public nlohmann::json_sax<json> {
 public:
  explicit Builder(std::string_view text) : text_(text) {}
  ParsedJson take() && { return fault_.empty() ? ParsedJson{std::move(root_), ""} : ParsedJson{{}, fault_}; }

  bool null() override { return put(nullptr) != nullptr; }
  bool boolean(bool value) override { return put(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value) != nullptr; }
  bool string(string_t& value) override { return put(std::move(value)) != nullptr; }
  bool binary(binary_t& value) override { return put(std::move(value)) != nullptr; }
  bool start_object(std::size_t /*elements*/) override { return open(json::object()); }
  bool start_array(std::size_t /*elements*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [entry, is_new] = open_.back()->get_ref<json::object_t&>().emplace(name, nullptr);
    member_ = &entry->second;
    return is_new || fail("names '" + excerpt(name) + "' twice in one object");
  }

  bool parse_error(std::size_t byte, const std::string& /*token*/, const json::exception& /*why*/) override {
    return fail("is not valid JSON (" + place_in(text_, byte) + ")");
  }

 private:
  static constexpr std::size_t kDeepest = 64;

  /// Where the next value goes.
  template <class Value>
  json* put(Value&& value) {
    json* const place = open_.empty() ? &root_ : member_ != nullptr ? member_ : &open_.back()->emplace_back();
    member_ = nullptr;
    *place = std::forward<Value>(value);
    return place;
  }
  bool open(json&& empty) {
    if (open_.size() == kDeepest) return fail("nests more than 64 levels deep");
    open_.push_back(put(std::move(empty)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool fail(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  std::string_view text_;
  json root_;
  std::vector<json*> open_;  // objects and lists around the current place
  json* member_ = nullptr;   // of the innermost object, named by the last key
  std::string fault_;
};

}  // namespace

ParsedJson parse_json(std::string_view text) {
  Builder builder(text);
  json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).take();
}

json read_json(const std::filesystem::path& file, const std::string& advice) {
  const auto refuse = [&](const std::string& why) {
    throw kernels::Error(kernels::Scope::rank, file.string() + ": " + why);
  };
  std::string text;
  if (const auto failure = read_text_file(file, text))
    refuse("cannot be read: " + failure.message() + advice);
  ParsedJson parsed = parse_json(text);
  if (!parsed.fault.empty()) refuse(parsed.fault);
  return std::move(parsed.value);
}

std::string shown(const json& value) { return excerpt(value.dump(), 100); }

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void for_each_json_line(const std::filesystem::path& file, const std::function<void(const json&)>& take) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (const auto parsed = parse_json(line); parsed.value.is_object()) take(parsed.value);
}

}  // namespace tenax::io
