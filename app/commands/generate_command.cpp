#include "app/commands/commands.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <utility>

#include "app/command_line.hpp"
#include "app/commands/checkpoint_arguments.hpp"
#include "app/console.hpp"
#include "app/inference/generator.hpp"
#include "app/inference/token_text.hpp"
#include "app/units.hpp"
#include "io/whole_file.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

using kernels::Error;
using kernels::Scope;

namespace {

constexpr std::int64_t kMany = 1'000'000'000;

struct Request {
  model::SamplerSettings settings;
  std::int64_t tokens, samples;
  std::uint64_t seed;
};

Request read_request(const CommandLine& line) {
  if (line.has("prompt") && line.has("prompt-file"))
    throw Error(Scope::usage, "generate: --prompt and --prompt-file exclude each other");
  return {.settings = {.temperature = line.real("temperature", 1.0, 0, 1e6),
                       .top_k = static_cast<int>(line.integer("top-k", 0, 0, kMany)),
                       .top_p = line.real("top-p", 1.0, 0, 1)},
          .tokens = line.integer("tokens", 200, 1, kMany),
          .samples = line.integer("samples", 1, 1, kMany),
          .seed = static_cast<std::uint64_t>(line.integer("seed", 1, 0, INT64_MAX))};
}

/// Of a file, or "-" for standard input.
std::string text_of_prompt(const std::string& file) {
  constexpr std::int64_t kMostBytes = 16 << 20;
  const auto fail = [&](const std::string& why) {
    throw Error(Scope::rank, file + ": cannot read the prompt file: " + why);
  };
  std::string text;
  if (file != "-") {
    const std::error_code failure = io::read_text_file(file, text, kMostBytes);
    if (failure) fail(failure == std::errc::file_too_large ? "it has more than 16 MiB" : failure.message());
    return text;
  }
  for (char c = 0; std::cin.get(c);) {
    text += c;
    if (static_cast<std::int64_t>(text.size()) > kMostBytes) fail("it has more than 16 MiB");
  }
  return text;
}

/// Without a prompt a model continues what begins a text: <|endoftext|>, or a line end.
std::string read_prompt(const CommandLine& line, const io::Tokenizer& tokenizer) {
  std::string prompt = line.text("prompt", tokenizer.end_of_text() ? std::string(io::kEndOfText) : "\n");
  if (line.has("prompt-file")) prompt = text_of_prompt(line.text("prompt-file", ""));
  if (prompt.empty()) throw Error(Scope::usage, "generate: the prompt is empty; give at least one character");
  return prompt;
}

void check_prompt(const std::vector<std::int32_t>& tokens, std::int64_t vocab_size,
                  const io::Tokenizer& tokenizer) {
  for (const std::int32_t token : tokens)
    if (token >= vocab_size)
      throw Error(Scope::usage, "generate: the prompt holds token " + std::to_string(token) + " ('" +
                                    std::string(tokenizer.bytes_of(token)) +
                                    "'), which the model's vocabulary of " + std::to_string(vocab_size) +
                                    " does not");
}

/// Shows tokens on stdout as they come, whole characters at a time; files get control characters as they are.
class Sample {
 public:
  explicit Sample(const io::Tokenizer& tokenizer)
      : text_(tokenizer), is_terminal_(isatty(STDOUT_FILENO) != 0) {}
  void show(std::int32_t token) { write(text_.add(token)); }
  void finish() { write(text_.finish() + "\n"); }

 private:
  void write(const std::string& text) const {
    const std::string shown = is_terminal_ ? for_terminal(text) : text;
    std::fwrite(shown.data(), 1, shown.size(), stdout);
    std::fflush(stdout);
  }

  TokenText text_;
  bool is_terminal_;
};

/// Returns the number of tokens generated.
std::int64_t write_samples(Generator& generator, const io::Tokenizer& tokenizer,
                           const std::vector<std::int32_t>& prompt, const Request& request) {
  std::int64_t count = 0;
  for (std::int64_t sample = 0; sample < request.samples; ++sample) {
    if (sample > 0) std::printf("---\n");
    Sample text(tokenizer);
    for (const std::int32_t token : prompt) text.show(token);
    std::vector<std::int32_t> tokens = prompt;
    generator.generate(
        tokens, request.tokens, request.settings, request.seed, sample,
        [&](std::int32_t token) { text.show(token); }, tokenizer.end_of_text());
    text.finish();
    count += static_cast<std::int64_t>(tokens.size() - prompt.size());
  }
  return count;
}

/// What is not as one might expect.
void warn(const CheckpointModel& model, const io::Tokenizer& tokenizer, std::size_t prompt_tokens) {
  if (model.config().vocab_size > tokenizer.vocab_size())
    print_notice("the model has tokens that the tokenizer " + tokenizer.name() +
                 " has not; they are shown as \xEF\xBF\xBD (GPT-2's: --tokenizer gpt2 --vocab DIR)");
  const auto seen = static_cast<std::size_t>(model.config().seq_length);
  if (prompt_tokens > seen)
    print_notice(
        format("the prompt has %zu tokens, of which the model sees the last %zu", prompt_tokens, seen));
}

}  // namespace

int generate_command(const std::vector<std::string>& arguments) {
  const CommandLine line({"generate",
                          {"prompt", "prompt-file", "tokens", "temperature", "top-k", "top-p", "samples",
                           "seed", "tokenizer", "vocab", "device", "dtype", "threads"},
                          {},
                          1,
                          1},
                         arguments);
  const Request request = read_request(line);
  io::VerifiedCheckpoint checkpoint = checkpoint_of_argument(line.positional().front());
  const std::filesystem::path checkpoint_file = checkpoint.file.path();
  CheckpointModel model(std::move(checkpoint), ModelOptions::of(line));
  const auto tokenizer =
      choose_tokenizer(line, io::claim_of_checkpoint(checkpoint_file, model.info()), model.info()).create();
  const std::vector<std::int32_t> prompt = io::encode(*tokenizer, read_prompt(line, *tokenizer));
  check_prompt(prompt, model.config().vocab_size, *tokenizer);
  Generator generator(model);
  print_notice("on " + model.device_name());
  warn(model, *tokenizer, prompt.size());
  const double begin_s = kernels::steady_now_s();
  const std::int64_t count = write_samples(generator, *tokenizer, prompt, request);
  const double seconds = kernels::steady_now_s() - begin_s;
  std::fprintf(stderr, "%lld tokens in %.2f s: %.1f tokens/s\n", static_cast<long long>(count), seconds,
               static_cast<double>(count) / seconds);
  return 0;
}

}  // namespace tenax::app
