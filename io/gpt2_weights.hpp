// A GPT-2 in a safetensors file, whatever dialect of Hugging Face's names it speaks.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/gpt2_names.hpp"
#include "io/safetensors.hpp"
#include "io/state_range.hpp"

namespace tenax::io {

/// Names with or without "transformer."; causal masks and a language head equal to wte.weight are ignored.
/// Throws kernels::Error(rank) naming the tensor that is missing, misshapen or not GPT-2's.
class Gpt2Weights {
 public:
  explicit Gpt2Weights(const std::filesystem::path& file);
  /// As the tensors (and config.json beside the file, which must agree) say; num_attention_heads is 0 without
  /// a config.json, for no tensor tells it.
  const ModelSizes& sizes() const { return sizes_; }
  /// The tensors of the file that no parameter is made of, by the file's names: causal masks, and a language head that
  /// equals wte.weight.
  const std::vector<std::string>& ignored() const { return ignored_; }
  /// Throws unless the sizes are `wanted` (heads only if they are known).
  void check_model(const ModelSizes& wanted) const;

  /// All of a parameter.
  void read(const std::string& name, std::span<float> values) const;
  /// `range.master` from the file, padding zero.
  void read(const StateRange& range) const;

 private:
  void collect();
  void infer_sizes();
  void apply_config();
  void check_parameters() const;
  void check_head() const;
  const SafetensorsEntry& entry(const std::string& name) const;
  SafetensorsReader reader_;
  std::map<std::string, const SafetensorsEntry*> entry_of_name_;
  ModelSizes sizes_;
  std::vector<std::string> ignored_;
};

}  // namespace tenax::io
