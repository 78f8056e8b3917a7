#include "resilience/membership/message_text.hpp"

#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "io/checksum.hpp"
#include "io/json.hpp"
#include "io/json_parse.hpp"
#include "io/text.hpp"
#include "kernels/error.hpp"
#include "resilience/membership/message_fields.hpp"

namespace tenax::resilience {
namespace {

using nlohmann::json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

[[noreturn]] void refuse(const std::string& why) {
  throw kernels::Error(kernels::Scope::link, "a message of the membership protocol " + why);
}

const auto& all_of(StepPhase /*phase*/) { return kStepPhases; }
const auto& all_of(EpochReason /*reason*/) { return kEpochReasons; }
const auto& all_of(CorruptBy /*by*/) { return kCorruptBys; }

/// Puts fields into a JSON object.
class Writer {
 public:
  template <class Value>
  void operator()(const char* name, const Value& value) {
    if constexpr (std::is_enum_v<Value>)
      object_.add(name, name_of(value));
    else
      object_.add(name, value);
  }
  void operator()(const char* name, std::uint64_t bits) { object_.add(name, io::checksum_text(bits)); }
  /// Absent: an empty list.
  void operator()(const char* name, const std::optional<StateDigest>& digest) {
    std::vector<std::string> words;
    if (digest)
      for (const PlacedSum& part : digest->parts)
        for (const std::uint64_t sum : {part.sum, part.placed}) words.push_back(io::checksum_text(sum));
    object_.add(name, words);
  }
  void operator()(const char* name, const std::vector<Part>& parts) { add_list(name, parts); }
  void operator()(const char* name, const std::vector<EpochMember>& members) { add_list(name, members); }
  void operator()(const char* name, const std::vector<MemberTimes>& times) { add_list(name, times); }

  const io::JsonObject& object() const { return object_; }

 private:
  template <class Item>
  void add_list(const char* name, const std::vector<Item>& items) {
    std::vector<io::JsonObject> objects;
    for (Item item : items) {
      Writer writer;
      visit_fields(writer, item);
      objects.push_back(writer.object());
    }
    object_.add(name, objects);
  }

  io::JsonObject object_;
};

/// Takes fields out of a JSON object.
class Reader {
 public:
  explicit Reader(const json& object) : object_(object) {}

  void operator()(const char* name, std::int64_t& value) {
    const json& found = field(name, "an integer", &json::is_number_integer);
    if (found.is_number_unsigned() && found.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
      refuse(name, "an integer of 64 bits");
    value = found.get<std::int64_t>();
  }
  void operator()(const char* name, int& value) {
    std::int64_t wide = 0;
    (*this)(name, wide);
    if (!std::in_range<int>(wide)) refuse(name, "an integer of 32 bits");
    value = static_cast<int>(wide);
  }
  void operator()(const char* name, double& value) {
    const json& found =
        field(name, "a number", [](const json& it) { return it.is_number() || it.is_null(); });
    value = found.is_null() ? kNone : found.get<double>();
  }
  void operator()(const char* name, bool& value) {
    value = field(name, "true or false", &json::is_boolean).get<bool>();
  }
  void operator()(const char* name, std::string& value) {
    value = field(name, "a string", &json::is_string).get<std::string>();
  }
  void operator()(const char* name, std::uint64_t& bits) {
    std::string text;
    (*this)(name, text);
    bits = io::parse_checksum(text);
  }
  void operator()(const char* name, std::optional<StateDigest>& digest) {
    std::vector<std::string> words;
    (*this)(name, words);
    if (words.empty()) return digest.reset();
    digest.emplace();
    if (words.size() != 2 * StateDigest::kParts) refuse(name, "a digest");
    auto word = words.begin();
    for (PlacedSum& part : digest->parts)
      for (std::uint64_t* sum : {&part.sum, &part.placed}) *sum = io::parse_checksum(*word++);
  }
  void operator()(const char* name, std::vector<std::string>& values) {
    for (const json& item : field(name, "a list", &json::is_array)) {
      if (!item.is_string()) refuse(name, "a list of strings");
      values.push_back(item.get<std::string>());
    }
  }
  template <class Item>
  void operator()(const char* name, std::vector<Item>& items) {
    for (const json& item : field(name, "a list", &json::is_array)) {
      Reader reader(item);
      visit_fields(reader, items.emplace_back());
      reader.finish();
    }
  }
  template <class Choice>
  requires std::is_enum_v<Choice>
  void operator()(const char* name, Choice& choice) {
    std::string text;
    (*this)(name, text);
    for (const Choice candidate : all_of(choice))
      if (text == name_of(candidate)) return void(choice = candidate);
    refuse(name, "one of the known words");
  }

  /// Refuses an object that has more than was asked for.
  void finish() const {
    if (object_.size() != taken_) resilience::refuse("has fields that are not known: " + io::shown(object_));
  }

 private:
  template <class Test>
  const json& field(const char* name, const char* type, Test is_it) {
    const auto found = object_.is_object() ? object_.find(name) : object_.end();
    if (found == object_.end() || !std::invoke(is_it, *found)) refuse(name, type);
    ++taken_;
    return *found;
  }
  [[noreturn]] void refuse(const char* name, const char* type) const {
    resilience::refuse("needs '" + std::string(name) + "', " + type + ": " + io::shown(object_));
  }

  const json& object_;
  std::size_t taken_ = 0;
};

template <class Message>
std::string text_of(const Message& message) {
  return std::visit(
      [](auto known) {
        Writer writer;
        writer("kind", std::string(known.kKind));
        visit_fields(writer, known);
        return writer.object().text();
      },
      message);
}

/// Reads `object` as the alternative of its kind.
template <class Message, std::size_t kIndex = 0>
Message read(const std::string& kind, Reader& reader) {
  if constexpr (kIndex == std::variant_size_v<Message>) {
    refuse("has the unknown kind '" + io::excerpt(kind) + "'");
  } else {
    std::variant_alternative_t<kIndex, Message> message;
    if (kind != message.kKind) return read<Message, kIndex + 1>(kind, reader);
    visit_fields(reader, message);
    reader.finish();
    return message;
  }
}

template <class Message>
Message parse(std::string_view text) {
  const io::ParsedJson parsed = io::parse_json(text);
  if (!parsed.fault.empty()) refuse(parsed.fault);
  Reader reader(parsed.value);
  std::string kind;
  reader("kind", kind);
  return read<Message>(kind, reader);
}

}  // namespace

std::string to_text(const MemberMessage& message) { return text_of(message); }
std::string to_text(const ServiceMessage& message) { return text_of(message); }
MemberMessage parse_member_message(std::string_view text) { return parse<MemberMessage>(text); }
ServiceMessage parse_service_message(std::string_view text) { return parse<ServiceMessage>(text); }

}  // namespace tenax::resilience
