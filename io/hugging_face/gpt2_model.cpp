#include "io/hugging_face/gpt2_model.hpp"

#include <algorithm>
#include <string_view>

#include "io/json_parse.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;
using Path = std::filesystem::path;

[[noreturn]] void refuse(const Path& file, const std::string& why) {
  throw kernels::Error(kernels::Scope::rank, file.string() + ": " + why);
}

/// Throws unless `key` is absent, null or one of `values`.
void require(const json& config, const char* key, const std::vector<json>& values, const Path& file) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return;
  if (std::find(values.begin(), values.end(), *found) != values.end()) return;
  refuse(file, std::string(key) + " is " + shown(*found) + "; tenax computes GPT-2 with " + values[0].dump() +
                   " only");
}

/// Everything beyond the sizes that changes what is computed.
void check_variant(const json& config, const Path& file) {
  require(config, "model_type", {"gpt2"}, file);
  require(config, "activation_function", {"gelu_new", "gelu_pytorch_tanh"}, file);
  require(config, "layer_norm_epsilon", {1e-5}, file);
  require(config, "tie_word_embeddings", {true}, file);
  require(config, "scale_attn_weights", {true}, file);
  require(config, "scale_attn_by_inverse_layer_idx", {false}, file);
  require(config, "add_cross_attention", {false}, file);
}

std::int64_t size_in(const json& config, const char* key, const Path& file) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return 0;
  if (!found->is_number_integer() || found->get<std::int64_t>() <= 0)
    refuse(file, std::string(key) + " is " + shown(*found));
  return found->get<std::int64_t>();
}

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

std::string gpt2_config_text(const ModelSizes& sizes, const std::string& dtype,
                             std::optional<std::int32_t> end_of_text) {
  constexpr std::int32_t kGpt2End = 50256;
  if (!end_of_text && sizes.vocab_size > kGpt2End) end_of_text = kGpt2End;
  const json end = end_of_text ? json(*end_of_text) : json(nullptr);
  const nlohmann::ordered_json config = {{"architectures", {"GPT2LMHeadModel"}},
                                         {"model_type", "gpt2"},
                                         {"n_layer", sizes.num_layers},
                                         {"n_head", sizes.num_attention_heads},
                                         {"n_embd", sizes.hidden_size},
                                         {"n_inner", sizes.ffn_hidden_size},
                                         {"n_positions", sizes.seq_length},
                                         {"n_ctx", sizes.seq_length},
                                         {"vocab_size", sizes.vocab_size},
                                         {"activation_function", "gelu_new"},
                                         {"layer_norm_epsilon", 1e-5},
                                         {"initializer_range", 0.02},
                                         {"attn_pdrop", 0.0},
                                         {"embd_pdrop", 0.0},
                                         {"resid_pdrop", 0.0},
                                         {"scale_attn_weights", true},
                                         {"tie_word_embeddings", true},
                                         {"bos_token_id", end},
                                         {"eos_token_id", end},
                                         {"torch_dtype", dtype == "F16"    ? "float16"
                                                         : dtype == "BF16" ? "bfloat16"
                                                                           : "float32"}};
  return config.dump(2) + "\n";
}

std::optional<ModelSizes> read_gpt2_config(const Path& directory) {
  const Path file = directory / "config.json";
  constexpr std::int64_t kMostBytes = 16 << 20;
  std::string text;
  const std::error_code failure = read_text_file(file, text, kMostBytes);
  if (failure == std::errc::no_such_file_or_directory) return {};
  if (failure) refuse(file, "cannot be opened: " + failure.message());
  const auto [config, fault] = parse_json(text);
  if (!fault.empty()) refuse(file, fault);
  if (!config.is_object()) refuse(file, "is not a JSON object");
  check_variant(config, file);
  ModelSizes sizes;
  sizes.num_layers = size_in(config, "n_layer", file);
  sizes.num_attention_heads = size_in(config, "n_head", file);
  sizes.hidden_size = size_in(config, "n_embd", file);
  sizes.ffn_hidden_size = size_in(config, "n_inner", file);
  sizes.seq_length = size_in(config, "n_positions", file);
  sizes.vocab_size = size_in(config, "vocab_size", file);
  return sizes;
}

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
