#include "app/text_tokens.hpp"

#include "app/generator.hpp"
#include "app/layout.hpp"
#include "app/utf8_stream.hpp"
#include "io/tokenizer.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

std::string write_sample(const io::Tokenizer& tokenizer, const std::filesystem::path& checkpoint) {
  constexpr std::int64_t kTokens = 200;
  const model::SamplerSettings settings{.temperature = 0.8, .top_k = 40, .top_p = 1.0};
  Generator generator(checkpoint);
  std::vector<std::int32_t> tokens = io::encode(tokenizer, "\n");
  if (tokens.front() >= generator.config().vocab_size) return "(the model's vocabulary lacks the line end)";
  Utf8Stream text;
  std::string written;
  const auto add = [&](std::int32_t token) {
    constexpr std::string_view kNotUtf8 = "\xFF";
    written += text.add(token < tokenizer.vocab_size() ? tokenizer.bytes_of(token) : kNotUtf8);
  };
  generator.generate(tokens, kTokens, settings, 1, 0, add, tokenizer.end_of_text());
  return written + text.finish();
}

}  // namespace

bool writes_text(const io::Deck& deck) {
  constexpr std::int64_t kSmall = 50'000'000;  // parameters: a few seconds of one core
  const io::DataSection& data = deck.data;
  const bool is_known = data.tokenizer == "gpt2"
                            ? !data.vocab_dir.empty()
                            : !data.train.empty() && data.train.front().file.ends_with(".txt");
  return is_known && gpt_config(deck.model).parameters() <= kSmall;
}

std::string sample_text(const io::Deck& deck, const std::filesystem::path& checkpoint) try {
  std::string text =
      write_sample(*io::Tokenizer::create(deck.data.tokenizer, deck.data.vocab_dir), checkpoint);
  // Control characters would disturb the terminal.
  constexpr char kFirstPrintable = ' ', kDelete = '\x7F';
  for (char& c : text)
    if ((c >= 0 && c < kFirstPrintable && c != '\n' && c != '\t') || c == kDelete) c = '?';
  return text;
} catch (const kernels::Error& error) {
  return std::string("(none: ") + error.what() + ")";
}

}  // namespace tenax::app
