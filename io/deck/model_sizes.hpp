// ModelSizes: the sizes that two equal GPTs share, under the deck's names.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "kernels/error.hpp"

namespace tenax::io {

struct ModelSizes {
  std::int64_t num_layers = 0, hidden_size = 0, num_attention_heads = 0, ffn_hidden_size = 0;
  std::int64_t seq_length = 0, vocab_size = 0;
  bool operator==(const ModelSizes&) const = default;
};

/// A member with its name. kModelSizes lists all of them, for loops.
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

/// Throws kernels::Error(rank) unless all sizes are equal. Names the first one that differs, and
/// both values.
inline void check_same_model(const std::filesystem::path& file, const ModelSizes& stored,
                             const ModelSizes& wanted) {
  for (const auto& [name, member] : kModelSizes) {
    if (stored.*member == wanted.*member) continue;
    throw kernels::Error(kernels::Scope::rank, file.string() + " holds another model: its " + name + " is " +
                                                   std::to_string(stored.*member) + ", but should be " +
                                                   std::to_string(wanted.*member));
  }
}

}  // namespace tenax::io
