// ModelSizes: what makes two GPTs the same model, under the deck's names.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

#include "io/deck/deck.hpp"

namespace tenax::io {

struct ModelSizes {
  std::int64_t num_layers = 0, hidden_size = 0, num_attention_heads = 0, ffn_hidden_size = 0;
  std::int64_t seq_length = 0, vocab_size = 0;
  bool operator==(const ModelSizes&) const = default;
};

/// Every member with its name, for loops over them.
struct ModelSize {
  const char* name;
  std::int64_t ModelSizes::*member;
};
inline constexpr std::array<ModelSize, 6> kModelSizes = {{
    {"num_layers", &ModelSizes::num_layers},
    {"hidden_size", &ModelSizes::hidden_size},
    {"num_attention_heads", &ModelSizes::num_attention_heads},
    {"ffn_hidden_size", &ModelSizes::ffn_hidden_size},
    {"seq_length", &ModelSizes::seq_length},
    {"vocab_size", &ModelSizes::vocab_size},
}};

ModelSizes sizes_of(const ModelSection& section);

/// Throws kernels::Error(rank) that names the first size of `file` that is not the one wanted, and both values.
void check_same_model(const std::filesystem::path& file, const ModelSizes& stored, const ModelSizes& wanted);

}  // namespace tenax::io
