#include "io/deck/model_sizes.hpp"

#include "kernels/error.hpp"

namespace tenax::io {

ModelSizes sizes_of(const ModelSection& section) {
  return {section.num_layers,      section.hidden_size, section.num_attention_heads,
          section.ffn_hidden_size, section.seq_length,  section.vocab_size};
}

void check_same_model(const std::filesystem::path& file, const ModelSizes& stored, const ModelSizes& wanted) {
  for (const auto& [name, member] : kModelSizes) {
    if (stored.*member == wanted.*member) continue;
    throw kernels::Error(kernels::Scope::rank, file.string() + " holds another model: its " + name + " is " +
                                                   std::to_string(stored.*member) + ", but should be " +
                                                   std::to_string(wanted.*member));
  }
}

}  // namespace tenax::io
