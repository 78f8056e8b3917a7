#include "io/hugging_face/gpt2_names.hpp"

#include <algorithm>
#include <string_view>

namespace tenax::io {
namespace {

void append_block(std::vector<NamedShape>& list, std::int64_t layer, std::int64_t hidden, std::int64_t ffn) {
  const std::string block = "h." + std::to_string(layer) + ".";
  list.push_back({block + "ln_1.weight", {hidden}});
  list.push_back({block + "ln_1.bias", {hidden}});
  list.push_back({block + "attn.c_attn.weight", {hidden, 3 * hidden}});
  list.push_back({block + "attn.c_attn.bias", {3 * hidden}});
  list.push_back({block + "attn.c_proj.weight", {hidden, hidden}});
  list.push_back({block + "attn.c_proj.bias", {hidden}});
  list.push_back({block + "ln_2.weight", {hidden}});
  list.push_back({block + "ln_2.bias", {hidden}});
  list.push_back({block + "mlp.c_fc.weight", {hidden, ffn}});
  list.push_back({block + "mlp.c_fc.bias", {ffn}});
  list.push_back({block + "mlp.c_proj.weight", {ffn, hidden}});
  list.push_back({block + "mlp.c_proj.bias", {hidden}});
}

}  // namespace

std::vector<NamedShape> gpt2_parameters(const ModelSizes& sizes) {
  std::vector<NamedShape> list;
  list.push_back({"wte.weight", {sizes.vocab_size, sizes.hidden_size}});
  list.push_back({"wpe.weight", {sizes.seq_length, sizes.hidden_size}});
  for (std::int64_t layer = 0; layer < sizes.num_layers; ++layer) {
    append_block(list, layer, sizes.hidden_size, sizes.ffn_hidden_size);
  }
  list.push_back({"ln_f.weight", {sizes.hidden_size}});
  list.push_back({"ln_f.bias", {sizes.hidden_size}});
  return list;
}

std::string without_prefix(const std::string& name) {
  constexpr std::string_view kPrefix = "transformer.";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

bool is_mask_buffer(const std::string& name) {
  constexpr std::string_view kBlock = "h.";
  if (!name.starts_with(kBlock)) return false;
  const std::size_t dot = name.find('.', kBlock.size());
  if (dot == std::string::npos || dot == kBlock.size()) return false;
  const bool number = std::all_of(name.begin() + 2, name.begin() + static_cast<std::ptrdiff_t>(dot),
                                  [](char c) { return c >= '0' && c <= '9'; });
  const std::string_view rest = std::string_view(name).substr(dot);
  return number && (rest == ".attn.bias" || rest == ".attn.masked_bias");
}

}  // namespace tenax::io
