// An index is {"metadata": {…}, "weight_map": {TENSOR: FILE, …}}, its files beside it.
#include "io/hugging_face/safetensors_set.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "io/front_bytes.hpp"
#include "io/json_parse.hpp"
#include "io/whole_file.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

constexpr char kWhole[] = "model.safetensors", kIndex[] = "model.safetensors.index.json";
constexpr char kPickled[] =
    "it holds PyTorch's pickled weights, and tenax reads safetensors only: save the model as such (in "
    "Python: "
    "transformers' save_pretrained)";

bool is_index(const fs::path& file) { return file.string().ends_with(".index.json"); }

/// "NAME-00001-of-00003.safetensors": the 3; else 1.
int parts_of(const fs::path& file) {
  const std::string stem = file.stem().string();
  const std::size_t of = stem.rfind("-of-");
  constexpr std::size_t kDigits = 5, kAround = 4;
  if (of == std::string::npos || stem.size() != of + kAround + kDigits) return 1;
  const std::string digits = stem.substr(of + kAround);
  const bool is_number =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::stoi(digits) : 1;
}

/// Which of its files stands for a model's folder.
fs::path file_in(const fs::path& folder) {
  std::error_code none;
  for (const char* name : {kWhole, kIndex})
    if (fs::exists(folder / name, none)) return folder / name;
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"})
    if (fs::exists(folder / name, none)) refuse_safetensors(folder / name, kPickled);
  refuse_safetensors(folder, std::string("the folder holds neither ") + kWhole + " nor " + kIndex);
}

/// What people keep models in, by the first bytes.
void refuse_other_formats(const fs::path& path) {
  struct Format {
    std::string_view magic, what;
  };
  constexpr std::array<Format, 5> kFormats = {{
      {"PK\3\4", kPickled},
      {"\x80\2", kPickled},
      {"\x89HDF", "it is an HDF5 file; tenax reads Hugging Face's safetensors"},
      {kCheckpointMagic,
       "it is a checkpoint of tenax, which generate, evaluate, export, run.resume and "
       "model.init_weights take as it is"},
      {"GGUF", "it is a GGUF file; tenax reads Hugging Face's safetensors"},
  }};
  const std::string head = front_bytes(PosixFile::open_to_read(path), kCheckpointMagic.size());
  for (const Format& format : kFormats)
    if (head.starts_with(format.magic)) refuse_safetensors(path, std::string(format.what));
}

std::string read_text(const fs::path& path) {
  constexpr std::int64_t kMostBytes = 100'000'000;
  std::string text;
  if (const std::error_code failure = read_text_file(path, text, kMostBytes))
    refuse_safetensors(path, failure.message());
  return text;
}

/// The file of each tensor, as an index says it.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const auto [index, fault] = parse_json(read_text(path));
  if (!fault.empty()) refuse_safetensors(path, fault);
  const bool has_map = index.is_object() && index.contains("weight_map") && index["weight_map"].is_object();
  if (!has_map) refuse_safetensors(path, "it is no index of safetensors: there is no weight_map in it");
  std::map<std::string, std::string> file_of_tensor;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || fs::path(name).filename() != name)
      refuse_safetensors(path, "its weight_map does not name a file beside it for " + tensor);
    file_of_tensor[tensor] = name;
  }
  return file_of_tensor;
}

}  // namespace

SafetensorsSet::SafetensorsSet(const fs::path& model) : path_(model) {
  std::error_code none;
  if (fs::is_directory(model, none)) path_ = file_in(model);
  if (is_index(path_)) {
    add_files_of_index();
    return;
  }
  refuse_other_formats(path_);
  if (const int parts = parts_of(path_); parts > 1)
    refuse_safetensors(path_, "it is one of the " + std::to_string(parts) +
                                  " parts of a model: name the folder, or " + kIndex + " in it");
  add_file(path_);
}

void SafetensorsSet::add_file(const fs::path& file) {
  readers_.push_back(std::make_unique<SafetensorsReader>(file));
  for (const SafetensorsEntry& entry : readers_.back()->entries())
    tensors_.push_back({readers_.back().get(), &entry});
}

void SafetensorsSet::add_files_of_index() {
  const auto file_of_tensor = read_index(path_);
  std::set<std::string> files, found;
  for (const auto& [tensor, file] : file_of_tensor) files.insert(file);
  for (const std::string& file : files) add_file(path_.parent_path() / file);
  for (const Tensor& tensor : tensors_) {
    const auto place = file_of_tensor.find(tensor.entry->name);
    if (place == file_of_tensor.end() || place->second != tensor.reader->path().filename())
      refuse_safetensors(path_, "it does not say that " + tensor.entry->name + " is in " +
                                    tensor.reader->path().filename().string());
    found.insert(tensor.entry->name);
  }
  for (const auto& [tensor, file] : file_of_tensor)
    if (!found.contains(tensor)) refuse_safetensors(path_, tensor + " is not in " + file);
}

}  // namespace tenax::io
