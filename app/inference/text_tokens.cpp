#include "app/inference/text_tokens.hpp"

#include "app/inference/generator.hpp"
#include "app/inference/token_text.hpp"
#include "app/options.hpp"
#include "io/tokenizer/tokenizer.hpp"
#include "kernels/error.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::app {

namespace {

std::string write_sample(const io::Tokenizer& tokenizer, const std::filesystem::path& checkpoint) {
  constexpr std::int64_t kTokens = 200;
  const model::SamplerSettings settings{.temperature = 0.8, .top_k = 40, .top_p = 1.0};
  CheckpointModel model(checkpoint);
  Generator generator(model);
  std::vector<std::int32_t> tokens = io::encode(tokenizer, "\n");
  if (tokens.front() >= model.config().vocab_size) return "(the model's vocabulary lacks the line end)";
  TokenText text(tokenizer);
  std::string written;
  generator.generate(
      tokens, kTokens, settings, 1, 0, [&](std::int32_t token) { written += text.add(token); },
      tokenizer.end_of_text());
  return written + text.finish();
}

}  // namespace

bool writes_text(const io::Deck& deck) {
  constexpr std::int64_t kSmall = 50'000'000;  // parameters: a few seconds of one core
  const io::DataSection& data = deck.data;
  const bool is_known = data.tokenizer == "bytes" || (data.tokenizer == "gpt2" && !data.vocab_dir.empty());
  return is_known && gpt_config(deck.model).parameters() <= kSmall;
}

std::string sample_text(const io::Deck& deck, const std::filesystem::path& checkpoint) try {
  return for_terminal(
      write_sample(*io::Tokenizer::create(deck.data.tokenizer, deck.data.vocab_dir), checkpoint));
} catch (const kernels::Error& error) {
  return std::string("(none: ") + error.what() + ")";
}

}  // namespace tenax::app
