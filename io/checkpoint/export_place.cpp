#include "io/checkpoint/export_place.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "io/json_parse.hpp"
#include "io/posix_file.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

bool holds_weights(const fs::path& file) {
  return file.extension() == ".safetensors" || file.filename().string().starts_with("pytorch_model");
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// `out` itself, or a part of it: STEM-00001-of-00003.safetensors.
bool is_replaced(const std::string& name, const fs::path& out) {
  const std::string begin = out.stem().string() + "-", end = out.extension().string();
  if (!name.starts_with(begin) || !name.ends_with(end) || name.size() < begin.size() + end.size())
    return name == out.filename();
  const std::string part = name.substr(begin.size(), name.size() - begin.size() - end.size());
  constexpr std::string_view kOf = "-of-";
  const std::size_t of = part.find(kOf);
  const bool is_part = of != std::string::npos && is_number(std::string_view(part).substr(0, of)) &&
                       is_number(std::string_view(part).substr(of + kOf.size()));
  return name == out.filename() || is_part;
}

/// All weights in the folder, of which there are some, are of an export that this one replaces.
bool replaces_all_weights(const fs::path& out) {
  bool has_weights = false;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_of(out), none)) {
    if (!holds_weights(entry.path())) continue;
    if (!is_replaced(entry.path().filename().string(), out)) return false;
    has_weights = true;
  }
  return has_weights;
}

/// Without what says of a model how its weights are stored.
nlohmann::json config_of_model(const std::string& text) {
  nlohmann::json config = parse_json(text).value;
  if (config.is_object()) config.erase("torch_dtype");
  return config;
}

bool is_same(const std::string& name, const std::string& text, const std::string& other) {
  return text == other || (name == "config.json" && config_of_model(text) == config_of_model(other));
}

}  // namespace

void check_texts_beside(const fs::path& out, const std::map<std::string, std::string>& texts) {
  if (replaces_all_weights(out)) return;
  for (const auto& [name, text] : texts) {
    const fs::path file = folder_of(out) / name;
    std::string there;
    std::error_code none;
    if (!fs::exists(file, none) || (!read_text_file(file, there) && is_same(name, text, there))) continue;
    throw kernels::Error(kernels::Scope::rank,
                         file.string() + " is not what belongs to " + out.filename().string() +
                             ", and would be lost to the model that it belongs to: export into another "
                             "folder, or remove it first");
  }
}

}  // namespace tenax::io
