#include "app/inference/generator.hpp"

#include <algorithm>
#include <cmath>

#include "app/inference/token_text.hpp"
#include "app/options.hpp"
#include "io/tokenizer/tokenizer.hpp"
#include "kernels/error.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::app {

namespace {

constexpr double kTokenDeadline_s = 600;

}  // namespace

Generator::Generator(CheckpointModel& model)
    : model_(model), decoder_(model.config(), model.alone(), model.device(), model.stream()) {
  decoder_.bind(model.load(decoder_.parameters()));
}

void Generator::generate(std::vector<std::int32_t>& tokens, std::int64_t count,
                         const model::SamplerSettings& settings, std::uint64_t seed, std::int64_t sample,
                         const std::function<void(std::int32_t)>& emit, std::optional<std::int32_t> stop) {
  assert(!tokens.empty());
  const kernels::CounterRandom random(seed, "sample " + std::to_string(sample));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::span<const float> logits = i == 0 ? start(tokens) : advance(tokens);
    const std::int32_t token =
        model::sample_token(logits, settings, random.uniform(static_cast<std::uint64_t>(i)));
    if (token == stop) return;
    tokens.push_back(token);
    emit(token);
  }
}

// A prompt that the cache still begins with need not be computed again: samples share it.
std::span<const float> Generator::start(const std::vector<std::int32_t>& tokens) {
  const auto seen =
      std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(tokens.size()), model_.config().seq_length);
  const std::span<const std::int32_t> window(tokens.end() - seen, tokens.end());
  if (std::equal(window.begin(), window.end(), start_.begin(), start_.end())) {
    decoder_.rewind(seen);
  } else {
    decoder_.start(window);
    start_.assign(window.begin(), window.end());
    const auto found = logits();
    start_logits_.assign(found.begin(), found.end());
  }
  return start_logits_;
}

std::span<const float> Generator::advance(const std::vector<std::int32_t>& tokens) {
  if (decoder_.length() == model_.config().seq_length) return start(tokens);
  decoder_.append(tokens.back());
  return logits();
}

std::span<const float> Generator::logits() {
  const std::span<const float> found = decoder_.logits(kernels::Deadline::after_s(kTokenDeadline_s));
  if (std::all_of(found.begin(), found.end(), [](float logit) { return std::isfinite(logit); })) return found;
  throw kernels::Error(
      kernels::Scope::rank,
      "generate: the model's logits are not numbers: its weights are not, or too large for " +
          std::string(kernels::name_of(model_.config().compute_dtype)));
}

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
  return deck.data.has_vocabulary() && gpt_config(deck.model).parameters() <= kSmall;
}

std::string sample_text(const io::Deck& deck, const std::filesystem::path& checkpoint) try {
  return for_terminal(
      write_sample(*io::Tokenizer::create(deck.data.tokenizer, deck.data.vocab_dir), checkpoint));
} catch (const kernels::Error& error) {
  return std::string("(none: ") + error.what() + ")";
}

}  // namespace tenax::app
