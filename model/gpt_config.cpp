#include "model/gpt_config.hpp"

namespace tenax::model {

std::int64_t GptConfig::padded_vocab_size(int tensor_size) const {
  const std::int64_t unit = 64 * static_cast<std::int64_t>(tensor_size);
  return (vocab_size + unit - 1) / unit * unit;
}

std::int64_t GptConfig::block_parameters() const {
  const std::int64_t h = hidden_size, f = ffn_hidden_size;
  return (h * 3 * h + 3 * h) + (h * h + h) + (h * f + f) + (f * h + h) + 4 * h;
}

std::int64_t GptConfig::parameters() const {
  return (vocab_size + seq_length) * hidden_size + num_layers * block_parameters() + 2 * hidden_size;
}

double GptConfig::flop_per_token() const {
  const double weights = static_cast<double>(parameters() - seq_length * hidden_size);
  return 6.0 * weights + 12.0 * static_cast<double>(num_layers * hidden_size * seq_length);
}

}  // namespace tenax::model
