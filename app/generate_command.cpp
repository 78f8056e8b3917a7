#include "app/generate_command.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "app/command_line.hpp"
#include "app/generator.hpp"
#include "app/text_tokens.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

using kernels::Error;
using kernels::Scope;

constexpr std::int64_t kByteVocabulary = 256;

namespace {

std::string read_prompt(const CommandLine& line) {
  if (!line.has("prompt-file")) return line.text("prompt", "\n");
  const std::string file = line.text("prompt-file", "");
  std::ifstream stream(file, std::ios::binary);
  std::istream& source = file == "-" ? std::cin : stream;
  if (file != "-" && (!source || std::filesystem::is_directory(file)))
    throw Error(Scope::rank, file + ": cannot read the prompt file");
  return {std::istreambuf_iterator<char>(source), {}};
}

}  // namespace

int generate_command(const std::vector<std::string>& arguments) {
  constexpr std::int64_t kMany = 1'000'000'000;
  const CommandLine line(
      {"generate",
       {"prompt", "prompt-file", "tokens", "temperature", "top-k", "top-p", "samples", "seed"},
       {},
       1,
       1},
      arguments);
  const model::SamplerSettings settings{.temperature = line.real("temperature", 1.0, 0, 1e6),
                                        .top_k = static_cast<int>(line.integer("top-k", 0, 0, kMany)),
                                        .top_p = line.real("top-p", 1.0, 0, 1)};
  const std::int64_t count = line.integer("tokens", 200, 1, kMany),
                     samples = line.integer("samples", 1, 1, kMany);
  const auto seed = static_cast<std::uint64_t>(line.integer("seed", 1, 0, INT64_MAX));
  if (line.has("prompt") && line.has("prompt-file"))
    throw Error(Scope::usage, "generate: --prompt and --prompt-file exclude each other");
  const std::string prompt = read_prompt(line);
  if (prompt.empty()) throw Error(Scope::usage, "generate: the prompt is empty; give at least one character");

  Generator generator(line.positional().front());
  for (const std::int32_t token : tokens_of_text(prompt))
    if (token >= generator.config().vocab_size)
      throw Error(Scope::usage, "generate: the prompt holds byte " + std::to_string(token) +
                                    ", which the model's vocabulary of " +
                                    std::to_string(generator.config().vocab_size) + " does not");
  if (generator.config().vocab_size > kByteVocabulary)
    std::fprintf(stderr, "tenax: the model has tokens that are not bytes; they are shown as '?'\n");
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    std::vector<std::int32_t> tokens = tokens_of_text(prompt);
    std::fwrite(prompt.data(), 1, prompt.size(), stdout);
    generator.generate(tokens, count, settings, seed, sample, [](std::int32_t token) {
      std::fputs(printable(token).c_str(), stdout);
      std::fflush(stdout);
    });
    std::printf("\n");
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::fprintf(stderr, "%.1f tokens/s\n", static_cast<double>(count * samples) / seconds);
  return 0;
}

}  // namespace tenax::app
