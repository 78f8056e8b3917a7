#include "app/text_tokens.hpp"

#include "app/generator.hpp"
#include "app/layout.hpp"

namespace tenax::app {

bool writes_text(const io::Deck& deck) {
  constexpr std::int64_t kSmall = 50'000'000;  // parameters: a few seconds of one core
  const auto& train = deck.data.train;
  return !train.empty() && deck.data.tokenizer == "bytes" && train.front().file.ends_with(".txt") &&
         gpt_config(deck.model).parameters() <= kSmall;
}

std::vector<std::int32_t> tokens_of_text(const std::string& text) {
  std::vector<std::int32_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string printable(std::int32_t token) {
  constexpr std::int32_t kFirstPrintable = 32, kDelete = 127, kBytes = 256;
  const bool shown =
      token == '\n' || token == '\t' || (token >= kFirstPrintable && token != kDelete && token < kBytes);
  return std::string(1, shown ? static_cast<char>(token) : '?');
}

std::string sample_text(const std::filesystem::path& checkpoint) {
  constexpr std::int64_t kTokens = 200;
  const model::SamplerSettings settings{.temperature = 0.8, .top_k = 40, .top_p = 1.0};
  Generator generator(checkpoint);
  std::vector<std::int32_t> tokens = {'\n'};
  std::string text;
  generator.generate(tokens, kTokens, settings, 1, 0, [&](std::int32_t token) { text += printable(token); });
  return text;
}

}  // namespace tenax::app
