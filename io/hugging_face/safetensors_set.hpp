// SafetensorsSet: a model's safetensors, in one file or in several.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "io/hugging_face/safetensors.hpp"

namespace tenax::io {

/// Open files with checked headers. Used by one thread at a time.
class SafetensorsSet {
 public:
  struct Tensor {
    const SafetensorsReader* reader = nullptr;
    const SafetensorsEntry* entry = nullptr;
  };

  /// `model` is a safetensors file, Hugging Face's index of several (model.safetensors.index.json),
  /// or the folder of either. Throws kernels::Error(rank) if the files do not match the index, and
  /// names the format if it is another one of models.
  explicit SafetensorsSet(const std::filesystem::path& model);

  /// The file, or the index: for messages.
  const std::filesystem::path& path() const { return path_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  void add_file(const std::filesystem::path& file);
  void add_files_of_index();

  std::filesystem::path path_;
  std::vector<std::unique_ptr<SafetensorsReader>> readers_;
  std::vector<Tensor> tensors_;
};

}  // namespace tenax::io
