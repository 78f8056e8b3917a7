// A model that transformers made (hugging_face/): its logits, generation from it, and its score on a text.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "app/inference/evaluation.hpp"
#include "app/inference/generator.hpp"
#include "io/checkpoint/checkpoint_convert.hpp"
#include "io/hugging_face/safetensors.hpp"
#include "kernels/error.hpp"
#include "model/sampler.hpp"

namespace tenax::app {
namespace {

constexpr std::int64_t kVocabulary = 97, kLength = 20;  // as in hugging_face/make_fixture.py
const model::SamplerSettings kGreedy{.temperature = 0};

kernels::Deadline soon() { return kernels::Deadline::after_s(60); }

std::vector<float> tensor(const std::string& name) {
  const io::SafetensorsReader reader(TENAX_SOURCE_DIR "/tests/app/hugging_face/logits.safetensors");
  const auto& entries = reader.entries();
  const auto entry =
      std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.name == name; });
  std::vector<float> values(static_cast<std::size_t>(entry->elements()));
  reader.read(*entry, 0, values);
  return values;
}

/// What a greedy choice has computed anew for every token.
class Recomputing {
 public:
  explicit Recomputing(const std::filesystem::path& checkpoint, const ModelOptions& options = {})
      : model_(checkpoint, options),
        decoder_(model_.config(), model_.alone(), model_.device(), model_.stream()) {
    decoder_.bind(model_.load(decoder_.parameters()));
  }
  std::vector<float> logits(std::span<const std::int32_t> tokens) {
    decoder_.start(tokens.last(std::min<std::size_t>(tokens.size(), kLength)));
    const auto view = decoder_.logits(soon());
    return {view.begin(), view.end()};
  }
  model::GptDecoder& decoder() { return decoder_; }

 private:
  CheckpointModel model_;
  model::GptDecoder decoder_;
};

/// Tokens of a text of a given length.
class TokensInMemory final : public io::TokenFile {
 public:
  explicit TokensInMemory(std::vector<std::int32_t> tokens) : tokens_(std::move(tokens)) {}
  const std::filesystem::path& path() const override { return path_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(tokens_.size()); }
  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    std::copy_n(tokens_.begin() + begin, out.size(), out.begin());
  }
  std::int64_t find_at_least(std::int64_t, std::int64_t, std::int64_t end) const override { return end; }

 private:
  std::filesystem::path path_ = "memory";
  std::vector<std::int32_t> tokens_;
};

class HuggingFace : public testing::Test {
 protected:
  HuggingFace() {
    for (const float token : tensor("tokens")) text_.push_back(static_cast<std::int32_t>(token));
    directory_ = std::filesystem::temp_directory_path() /
                 ("tenax-hugging-face-" + std::to_string(getpid()) + "-" +
                  testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
    checkpoint_ = directory_ / "model.h5";
    io::import_safetensors(TENAX_SOURCE_DIR "/tests/app/hugging_face/model.safetensors", checkpoint_, {});
  }
  ~HuggingFace() override { std::filesystem::remove_all(directory_); }

  std::vector<std::int32_t> generate(Generator& generator, std::vector<std::int32_t> tokens,
                                     std::int64_t count, const model::SamplerSettings& settings,
                                     std::int64_t sample = 0, std::optional<std::int32_t> stop = {}) {
    const std::size_t prompt = tokens.size();
    std::vector<std::int32_t> told;
    generator.generate(
        tokens, count, settings, 3, sample, [&](std::int32_t t) { told.push_back(t); }, stop);
    EXPECT_EQ(told,
              std::vector<std::int32_t>(tokens.begin() + static_cast<std::ptrdiff_t>(prompt), tokens.end()));
    return told;
  }

  std::filesystem::path directory_, checkpoint_;
  std::vector<std::int32_t> text_;
};

TEST_F(HuggingFace, logits_are_those_of_transformers_with_cache_and_without) {
  const std::vector<float> expected = tensor("logits");
  Recomputing model(checkpoint_);
  std::vector<std::vector<float>> anew, cached;
  for (std::size_t count = 1; count <= text_.size(); ++count)
    anew.push_back(model.logits(std::span(text_).first(count)));
  for (const std::int32_t token : text_) {
    if (cached.empty())
      model.decoder().start({&token, 1});
    else
      model.decoder().append(token);
    const auto view = model.decoder().logits(soon());
    cached.emplace_back(view.begin(), view.end());
  }
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(kLength * kVocabulary));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t row = i / kVocabulary, token = i % kVocabulary;
    ASSERT_NEAR(anew[row][token], expected[i], 1e-4) << "position " << row << " token " << token;
    ASSERT_NEAR(cached[row][token], expected[i], 1e-4) << "position " << row << " token " << token;
  }
}

TEST_F(HuggingFace, greedy_tokens_are_those_of_a_full_recomputation_also_when_the_window_moves) {
  CheckpointModel checkpoint(checkpoint_);
  Generator generator(checkpoint);
  Recomputing model(checkpoint_);
  for (const std::size_t prompt : {1U, 6U, 20U}) {
    std::vector<std::int32_t> tokens(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(prompt)),
        expected;
    const auto generated = generate(generator, tokens, 2 * kLength, kGreedy);
    for (std::int64_t i = 0; i < 2 * kLength; ++i) {
      expected.push_back(model::sample_token(model.logits(tokens), kGreedy, 0));
      tokens.push_back(expected.back());
    }
    EXPECT_EQ(generated, expected) << "prompt of " << prompt;
  }
}

TEST_F(HuggingFace, only_the_end_of_a_prompt_beyond_the_window_counts) {
  CheckpointModel model(checkpoint_);
  Generator generator(model);
  std::vector<std::int32_t> longer = {1, 2, 3};
  longer.insert(longer.end(), text_.begin(), text_.end());
  EXPECT_EQ(generate(generator, longer, 5, kGreedy), generate(generator, text_, 5, kGreedy));
}

TEST_F(HuggingFace, a_sample_does_not_depend_on_what_was_generated_before) {
  CheckpointModel checkpoint(checkpoint_);
  Generator first(checkpoint), second(checkpoint);
  const std::vector<std::int32_t> prompt(text_.begin(), text_.begin() + 4);
  std::vector<std::vector<std::int32_t>> samples;
  for (std::int64_t sample = 0; sample < 3; ++sample)
    samples.push_back(generate(first, prompt, 3 * kLength, {}, sample));
  EXPECT_NE(samples[0], samples[1]);
  for (const std::int64_t sample : {2, 0, 1})
    EXPECT_EQ(generate(second, prompt, 3 * kLength, {}, sample), samples[static_cast<std::size_t>(sample)]);
}

TEST_F(HuggingFace, generation_ends_before_the_stop_token) {
  CheckpointModel model(checkpoint_);
  Generator generator(model);
  const std::vector<std::int32_t> all = generate(generator, text_, 30, {});
  const auto at = std::find(all.begin(), all.end(), all[12]);
  EXPECT_EQ(generate(generator, text_, 30, {}, 0, all[12]), std::vector<std::int32_t>(all.begin(), at));
}

TEST_F(HuggingFace, evaluation_scores_every_token_but_the_first_once) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < 3 * kLength + 8; ++i) tokens.push_back((i * i + 5 * i) % kVocabulary);
  Recomputing model(checkpoint_);
  double expected = 0;
  for (std::size_t target = 1; target < tokens.size(); ++target) {
    const std::size_t begin = (target - 1) / kLength * kLength;
    const auto logits = model.logits(std::span(tokens).subspan(begin, target - begin));
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    expected += std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(tokens[target])]);
  }
  const std::vector<std::int64_t> twice(kVocabulary, 2);
  for (const std::int64_t batch : {1, 2, 3, 50}) {
    CheckpointModel checkpoint(checkpoint_);
    const Evaluation result =
        evaluate(checkpoint, TokensInMemory(tokens), {.batch = batch, .bytes_of_token = twice});
    EXPECT_EQ(result.tokens, 67);
    EXPECT_NEAR(result.loss_sum, expected, 1e-4);
    EXPECT_EQ(result.bytes, 134);
    EXPECT_DOUBLE_EQ(*result.bits_per_byte(), result.loss() / std::log(2.0) / 2);
    EXPECT_DOUBLE_EQ(result.perplexity(), std::exp(result.loss()));
  }
}

TEST_F(HuggingFace, texts_shorter_than_a_window_are_scored_and_unknown_tokens_have_no_bytes) {
  for (const std::int64_t size : {2, 20, 21}) {
    CheckpointModel checkpoint(checkpoint_);
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(size), 90);
    const std::vector<std::int64_t> lengths(90, 1);
    const Evaluation result =
        evaluate(checkpoint, TokensInMemory(tokens), {.batch = 4, .bytes_of_token = lengths});
    EXPECT_EQ(result.tokens, size - 1);
    EXPECT_FALSE(result.bits_per_byte());
  }
}

TEST_F(HuggingFace, evaluation_by_several_threads_gives_the_bits_of_one) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < 41 * kLength + 8; ++i) tokens.push_back((i * i + 5 * i) % kVocabulary);
  std::vector<std::int64_t> lengths(kVocabulary), told;
  std::iota(lengths.begin(), lengths.end(), 1);
  std::vector<Evaluation> results;
  for (const int threads : {1, 3}) {
    CheckpointModel checkpoint(checkpoint_, {.device = io::DeviceKind::cpu, .dtype = "", .threads = threads});
    results.push_back(evaluate(checkpoint, TokensInMemory(tokens),
                               {.batch = 2, .bytes_of_token = lengths, .progress = [&](std::int64_t done) {
                                  told.push_back(done);
                                }}));
  }
  EXPECT_EQ(results[1].loss_sum, results[0].loss_sum);
  EXPECT_EQ(results[1].bytes, results[0].bytes);
  EXPECT_EQ(results[1].tokens, results[0].tokens);
  EXPECT_EQ(*std::max_element(told.begin(), told.end()), results[0].tokens);
}

/// A text whose disk fails beyond a position.
class FailingTokens final : public io::TokenFile {
 public:
  const std::filesystem::path& path() const override { return path_; }
  std::int64_t size() const override { return 100 * kLength; }
  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    if (begin >= 50 * kLength) throw kernels::Error(kernels::Scope::rank, "disk");
    std::fill(out.begin(), out.end(), 1);
  }
  std::int64_t find_at_least(std::int64_t, std::int64_t, std::int64_t end) const override { return end; }

 private:
  std::filesystem::path path_ = "memory";
};

TEST_F(HuggingFace, what_fails_in_any_thread_of_an_evaluation_ends_it) {
  for (const int threads : {1, 3}) {
    CheckpointModel checkpoint(checkpoint_, {.device = io::DeviceKind::cpu, .dtype = "", .threads = threads});
    EXPECT_THROW(evaluate(checkpoint, FailingTokens(), {}), kernels::Error);
  }
}

TEST_F(HuggingFace, types_and_threads_change_logits_no_more_than_rounding) {
  Recomputing one(checkpoint_);
  const std::vector<float> expected = one.logits(text_);
  for (const auto& [dtype, threads, tolerance] :
       {std::tuple{"fp32", 3, 1e-4F}, std::tuple{"bf16", 1, 0.1F}, std::tuple{"bf16", 2, 0.1F}}) {
    Recomputing other(checkpoint_, {.device = io::DeviceKind::cpu, .dtype = dtype, .threads = threads});
    const std::vector<float> logits = other.logits(text_);
    for (std::size_t i = 0; i < logits.size(); ++i)
      ASSERT_NEAR(logits[i], expected[i], tolerance) << dtype << " token " << i;
    if (std::string(dtype) == "bf16") {
      EXPECT_NE(logits, expected);
    }
  }
}

}  // namespace
}  // namespace tenax::app
