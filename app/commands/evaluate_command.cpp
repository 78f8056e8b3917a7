#include "app/commands/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <utility>

#include "app/command_line.hpp"
#include "app/commands/checkpoint_arguments.hpp"
#include "app/console.hpp"
#include "app/inference/evaluation.hpp"
#include "app/progress.hpp"
#include "app/units.hpp"
#include "io/json.hpp"
#include "io/tokens/token_bytes.hpp"
#include "io/tokens/token_hdf5.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

std::vector<std::int64_t> lengths_of(const io::Tokenizer& tokenizer) {
  std::vector<std::int64_t> lengths;
  for (std::int32_t token = 0; token < tokenizer.vocab_size(); ++token)
    lengths.push_back(static_cast<std::int64_t>(tokenizer.bytes_of(token).size()));
  return lengths;
}

/// The bytes of each token of `file`; empty where nobody says what its tokens stand for.
std::vector<std::int64_t> bytes_of_token(const std::string& file, const TokenizerChoice& choice) {
  const bool is_hdf5 = file.ends_with(".h5");
  if (is_hdf5 && io::read_token_file_info(file).tokenizer != "bytes") {
    std::vector<std::int64_t> lengths;
    for (const std::string& bytes : io::read_token_vocabulary(file))
      lengths.push_back(static_cast<std::int64_t>(bytes.size()));
    return lengths;
  }
  if (is_hdf5) return lengths_of(*io::Tokenizer::create("bytes", ""));
  if (file.ends_with(".bin") && !choice.is_known) return {};
  return lengths_of(*choice.create());
}

/// Also empty, which a notice says, where the vocabulary that the checkpoint names is not there: tokens have a loss all
/// the same. What the command line names must be there.
std::vector<std::int64_t> bytes_of_token_if_known(const CommandLine& line, const std::string& file,
                                                  const TokenizerChoice& choice) {
  const bool is_asked = line.has("vocab") || line.has("tokenizer");
  if (!file.ends_with(".bin") || is_asked || choice.has_vocabulary()) return bytes_of_token(file, choice);
  const std::string place =
      choice.vocab_dir.empty() ? "in no folder that is known" : "not in " + choice.vocab_dir;
  print_notice("bits per byte stay unknown: " + choice.checkpoint.who +
               " is of GPT-2's tokens, whose encoder.json and vocab.bpe are " + place + " (--vocab DIR)");
  return {};
}

/// As many windows as make efficient products, of which logits stay small: about 1024 rows on a core, 8192 on a GPU.
std::int64_t default_batch(const CheckpointModel& model) {
  const std::int64_t rows = model.is_on_cpu() ? 1024 : 8192;
  return std::max<std::int64_t>(1, rows / model.config().seq_length);
}

/// With a bar on a terminal.
Evaluation run(CheckpointModel& model, const io::TokenFile& file, EvaluationOptions options) {
  ProgressBar bar(file.size() - 1, ProgressBar::Unit::tokens);
  options.progress = [&bar](std::int64_t tokens) { bar.show(tokens); };
  return evaluate(model, file, options);
}

void print_text(const std::string& data, const Evaluation& result, std::int64_t seq_length) {
  const std::int64_t rest = result.tokens % seq_length;
  std::printf("%s: %lld tokens scored, in windows of %lld%s\n", data.c_str(),
              static_cast<long long>(result.tokens), static_cast<long long>(seq_length),
              rest == 0 ? "" : format(" and one of %lld", static_cast<long long>(rest)).c_str());
  std::printf("loss %.6f nats, perplexity %.6g\n", result.loss(), result.perplexity());
  if (const auto bits = result.bits_per_byte())
    std::printf("bits per byte %.6f (%lld bytes)\n", *bits, static_cast<long long>(*result.bytes));
  else
    std::printf(
        "bits per byte: unknown, for it is not known what the file's tokens stand for (--tokenizer, "
        "--vocab)\n");
  std::printf("%.1f tokens/s\n", static_cast<double>(result.tokens) / result.seconds);
}

void print_json(const CheckpointModel& model, const Evaluation& result) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();  // null
  io::JsonObject object;
  object.add("step", model.info().step).add("tokens", result.tokens);
  if (result.bytes)
    object.add("bytes", *result.bytes);
  else
    object.add("bytes", kUnknown);
  object.add("loss", result.loss())
      .add("perplexity", result.perplexity())
      .add("bits_per_byte", result.bits_per_byte().value_or(kUnknown))
      .add("seconds", result.seconds)
      .add("tokens_per_second", static_cast<double>(result.tokens) / result.seconds)
      .add("device", model.is_on_cpu() ? "cpu" : "cuda")
      .add("dtype", kernels::name_of(model.config().compute_dtype));
  std::printf("%s\n", object.text().c_str());
}

}  // namespace

int evaluate_command(const std::vector<std::string>& arguments) {
  constexpr std::int64_t kMostSequences = 1 << 20;
  const CommandLine line(
      {"evaluate", {"data", "batch", "tokenizer", "vocab", "device", "dtype", "threads"}, {"json"}, 1, 1},
      arguments);
  const std::string data = line.text("data", "");
  if (data.empty()) throw kernels::Error(kernels::Scope::usage, "evaluate: --data FILE is missing");
  const std::int64_t stated_batch = line.integer("batch", 1, 1, kMostSequences);

  io::VerifiedCheckpoint checkpoint = checkpoint_of_argument(line.positional().front());
  const std::filesystem::path checkpoint_file = checkpoint.file.path();
  CheckpointModel model(std::move(checkpoint), ModelOptions::of(line));
  const model::GptConfig& config = model.config();
  const TokenizerChoice choice =
      choose_tokenizer(line, io::claim_of_checkpoint(checkpoint_file, model.info()), model.info(),
                       io::claim_of_token_file(data));
  const std::vector<std::int64_t> lengths = bytes_of_token_if_known(line, data, choice);
  if (data.ends_with(".h5")) io::verify_old_token_file(data);
  const auto file =
      io::TokenFile::open(data, choice.name, {.vocab_size = config.vocab_size}, choice.vocab_dir);
  if (file->size() < 2)
    io::refuse_tokens(data, "too short: it has one token, and a file's first is not scored");
  if (!line.has("json")) {
    std::printf("on %s\n", model.device_name().c_str());
    std::fflush(stdout);
  }
  const Evaluation result =
      run(model, *file,
          {.batch = line.has("batch") ? stated_batch : default_batch(model), .bytes_of_token = lengths});
  if (line.has("json"))
    print_json(model, result);
  else
    print_text(data, result, config.seq_length);
  return 0;
}

}  // namespace tenax::app
