// GPT-2 as Hugging Face describes it: config.json beside the weights, and the names of parameters.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/deck/model_sizes.hpp"
#include "kernels/tensor.hpp"

namespace tenax::io {

/// The config.json of `tenax export`, which loads as GPT2LMHeadModel. Without `end_of_text`, the
/// token that ends texts is GPT-2's, if the vocabulary has it.
std::string gpt2_config_text(const ModelSizes& sizes, const std::string& dtype,
                             std::optional<std::int32_t> end_of_text = {});

/// The sizes in `directory`/config.json; a size that it does not state is 0. Nothing if there is no
/// such file. Throws kernels::Error(rank) if it is not JSON or describes a model that tenax does
/// not compute.
std::optional<ModelSizes> read_gpt2_config(const std::filesystem::path& directory);

struct NamedShape {
  std::string name;
  kernels::Shape shape;
};

/// All parameters in the order of Hugging Face's state_dict. The language head is wte.weight
/// (tied). Weights of linear layers are [in, out], as in GPT-2's Conv1D.
std::vector<NamedShape> gpt2_parameters(const ModelSizes& sizes);

/// `name` without GPT2LMHeadModel's prefix "transformer.".
std::string without_prefix(const std::string& name);

/// Whether `name`, without prefix, is a causal mask of older files: h.N.attn.bias or
/// h.N.attn.masked_bias.
bool is_mask_buffer(const std::string& name);

inline constexpr char kTiedHead[] = "lm_head.weight";

}  // namespace tenax::io
