// Gpt2Weights: a GPT-2 in safetensors files, in any dialect of Hugging Face's names.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/hugging_face/gpt2_model.hpp"
#include "io/hugging_face/safetensors_set.hpp"
#include "io/state_range.hpp"

namespace tenax::io {

/// Takes names with or without "transformer.". Ignores causal masks and a language head equal to
/// wte.weight. Throws kernels::Error(rank) that names the tensor which is missing, misshapen or not
/// GPT-2's.
class Gpt2Weights {
 public:
  /// `model` is the argument of SafetensorsSet.
  explicit Gpt2Weights(const std::filesystem::path& model);
  /// The sizes by the tensors, and by config.json beside them, which must agree.
  /// num_attention_heads is 0 without a config.json: no tensor tells it.
  const ModelSizes& sizes() const { return sizes_; }
  /// The file's names of ignored tensors: causal masks, and a language head that equals wte.weight.
  const std::vector<std::string>& ignored() const { return ignored_; }
  /// Throws unless the sizes are `wanted`. Compares heads only if they are known.
  void check_model(const ModelSizes& wanted) const;

  /// Reads a whole parameter.
  void read(const std::string& name, std::span<float> values) const;
  /// Fills `range.weights()`; padding is zero.
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
