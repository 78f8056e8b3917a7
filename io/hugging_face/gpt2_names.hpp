// The parameters of GPT-2 under Hugging Face's names, and which other names its files may carry.
#pragma once

#include <string>
#include <vector>

#include "io/deck/model_sizes.hpp"
#include "kernels/tensor.hpp"

namespace tenax::io {

struct NamedShape {
  std::string name;
  kernels::Shape shape;
};

/// Every parameter, in the order of Hugging Face's state_dict. The language head is wte.weight (tied).
/// Weights of linear layers are [in, out], as GPT-2's Conv1D stores them.
std::vector<NamedShape> gpt2_parameters(const ModelSizes& sizes);

/// `name` without the "transformer." that GPT2LMHeadModel puts before it.
std::string without_prefix(const std::string& name);

/// The causal masks that older files carry: h.N.attn.bias and h.N.attn.masked_bias (name without prefix).
bool is_mask_buffer(const std::string& name);

inline constexpr char kTiedHead[] = "lm_head.weight";

}  // namespace tenax::io
