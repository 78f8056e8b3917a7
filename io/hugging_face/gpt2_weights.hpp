// A GPT-2 in safetensors files, whatever dialect of Hugging Face's names it speaks.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/hugging_face/gpt2_names.hpp"
#include "io/hugging_face/safetensors_set.hpp"
#include "io/state_range.hpp"

namespace tenax::io {

/// Names with or without "transformer."; causal masks and a language head equal to wte.weight are ignored.
/// Throws kernels::Error(rank) naming the tensor that is missing, misshapen or not GPT-2's.
class Gpt2Weights {
 public:
  /// `model`: as SafetensorsSet takes it.
  explicit Gpt2Weights(const std::filesystem::path& model);
  /// As the tensors (and config.json beside them, which must agree) say; num_attention_heads is 0 without
  /// a config.json, for no tensor tells it.
  const ModelSizes& sizes() const { return sizes_; }
  /// The tensors of the file that no parameter is made of, by the file's names: causal masks, and a language head that
  /// equals wte.weight.
  const std::vector<std::string>& ignored() const { return ignored_; }
  /// Throws unless the sizes are `wanted` (heads only if they are known).
  void check_model(const ModelSizes& wanted) const;

  /// All of a parameter.
  void read(const std::string& name, std::span<float> values) const;
  /// `range.weights()` from the file, padding zero.
  void read(const StateRange& range) const;

 private:
  void collect();
  void infer_sizes();
  void apply(const ModelSizes& config);
  void check_parameters() const;
  void check_head() const;
  const SafetensorsSet::Tensor& tensor(const std::string& name) const;
  const SafetensorsEntry& entry(const std::string& name) const { return *tensor(name).entry; }
  [[noreturn]] void refuse(const std::string& why) const { refuse_safetensors(set_.path(), why); }
  SafetensorsSet set_;
  std::map<std::string, SafetensorsSet::Tensor> tensor_of_name_;
  ModelSizes sizes_;
  std::vector<std::string> ignored_;
};

}  // namespace tenax::io
