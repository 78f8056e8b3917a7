#include "io/hugging_face/safetensors_header.hpp"

#include <algorithm>
#include <array>

#include "io/json_parse.hpp"
#include "io/text.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;
using Path = std::filesystem::path;

struct TypeSize {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<TypeSize, 15> kTypes = {{{"F64", 8},
                                              {"F32", 4},
                                              {"F16", 2},
                                              {"BF16", 2},
                                              {"I64", 8},
                                              {"I32", 4},
                                              {"I16", 2},
                                              {"I8", 1},
                                              {"U64", 8},
                                              {"U32", 4},
                                              {"U16", 2},
                                              {"U8", 1},
                                              {"BOOL", 1},
                                              {"F8_E4M3", 1},
                                              {"F8_E5M2", 1}}};

json parse_strictly(const std::string& text, const Path& file) {
  ParsedJson parsed = parse_json(text);
  if (!parsed.fault.empty()) refuse_safetensors(file, "its header " + parsed.fault);
  return std::move(parsed.value);
}

/// A non-negative integer that fits, or -1.
std::int64_t count_of(const json& j) {
  if (!j.is_number_unsigned()) return -1;
  const auto value = j.get<std::uint64_t>();
  return value > INT64_MAX ? -1 : static_cast<std::int64_t>(value);
}

std::vector<std::int64_t> counts_of(const json& entry, const char* key, const std::string& name,
                                    const Path& file) {
  std::vector<std::int64_t> counts;
  const auto list = entry.find(key);
  if (list == entry.end() || !list->is_array())
    refuse_safetensors(file, "'" + name + "' has no list '" + key + "'");
  for (const json& item : *list) {
    counts.push_back(count_of(item));
    if (counts.back() < 0)
      refuse_safetensors(file, "'" + name + "' has an impossible number in '" + key + "'");
  }
  return counts;
}

/// type × shape, or -1 if it does not fit into 63 bits.
std::int64_t byte_length(const SafetensorsEntry& entry) {
  std::int64_t product = bytes_of_dtype(entry.dtype);
  if (std::count(entry.shape.begin(), entry.shape.end(), 0)) return 0;
  for (const std::int64_t extent : entry.shape) {
    if (__builtin_mul_overflow(product, extent, &product)) return -1;
  }
  return product;
}

SafetensorsEntry parse_entry(const std::string& name, const json& j, std::int64_t data_bytes,
                             const Path& file) {
  if (!j.is_object()) refuse_safetensors(file, "'" + name + "' is not an object");
  SafetensorsEntry entry;
  entry.name = name;
  if (const auto dtype = j.find("dtype"); dtype != j.end() && dtype->is_string()) entry.dtype = *dtype;
  if (bytes_of_dtype(entry.dtype) == 0)
    refuse_safetensors(file, "'" + name + "' has the unknown type '" + entry.dtype + "'");
  entry.shape = counts_of(j, "shape", name, file);
  const auto place = counts_of(j, "data_offsets", name, file);
  if (place.size() != 2 || place[0] > place[1] || place[1] > data_bytes) {
    refuse_safetensors(
        file, "'" + name + "' lies outside of the file's " + std::to_string(data_bytes) + " bytes of data");
  }
  entry.begin = place[0];
  entry.end = place[1];
  if (entry.end - entry.begin != byte_length(entry)) {
    refuse_safetensors(file, "'" + name + "' has " + std::to_string(entry.end - entry.begin) +
                                 " bytes, which is not " + entry.dtype + " " + shape_text(entry.shape));
  }
  return entry;
}

void check_metadata(const json& metadata, const Path& file) {
  const bool texts = metadata.is_object() && std::all_of(metadata.begin(), metadata.end(),
                                                         [](const json& j) { return j.is_string(); });
  if (!texts) refuse_safetensors(file, "its __metadata__ is not a table of strings");
}

/// The tensors must fill the data without overlap or hole.
void check_cover(const std::vector<SafetensorsEntry>& entries, std::int64_t data_bytes, const Path& file) {
  std::int64_t at = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != at) {
      refuse_safetensors(
          file, "'" + entry.name +
                    (entry.begin < at ? "' overlaps another tensor" : "' follows a hole in the data"));
    }
    at = entry.end;
  }
  if (at != data_bytes) {
    refuse_safetensors(file, "its tensors have " + std::to_string(at) + " bytes, but its data " +
                                 std::to_string(data_bytes));
  }
}

}  // namespace

std::int64_t SafetensorsEntry::elements() const { return (end - begin) / bytes_of_dtype(dtype); }

std::int64_t bytes_of_dtype(std::string_view dtype) {
  const auto type =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeSize& t) { return t.name == dtype; });
  return type == kTypes.end() ? 0 : type->bytes;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

void refuse_safetensors(const Path& file, const std::string& why) {
  constexpr std::size_t kLongestReason = 400;  // names and shapes are the file's
  throw kernels::Error(kernels::Scope::rank,
                       file.string() + " is not a usable safetensors file: " + excerpt(why, kLongestReason));
}

std::vector<SafetensorsEntry> parse_safetensors_header(const std::string& text, std::int64_t data_bytes,
                                                       const Path& file) {
  const json header = parse_strictly(text, file);
  if (!header.is_object()) refuse_safetensors(file, "its header is not a JSON object");
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      check_metadata(value, file);
    } else {
      entries.push_back(parse_entry(name, value, data_bytes, file));
    }
  }
  const auto place = [](const SafetensorsEntry& e) { return std::pair(e.begin, e.end); };
  std::sort(entries.begin(), entries.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  check_cover(entries, data_bytes, file);
  return entries;
}

std::string safetensors_header(const std::vector<SafetensorsEntry>& entries) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};  // without it transformers refuses the file
  for (const SafetensorsEntry& entry : entries) {
    header[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const auto length = static_cast<std::uint64_t>(text.size());
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> 8 * i & 0xFFU);
  return bytes + text;
}

}  // namespace tenax::io
