#include "app/build.hpp"
#include "app/commands/commands.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "app/command_line.hpp"
#include "app/commands/checkpoint_arguments.hpp"
#include "app/console.hpp"
#include "app/units.hpp"
#include "io/checkpoint/checkpoint_convert.hpp"
#include "io/checkpoint/checkpoint_export.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/text.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

std::string required(const CommandLine& line, const std::string& command, const std::string& option) {
  const std::string value = line.text(option, "");
  if (value.empty())
    throw kernels::Error(kernels::Scope::usage, command + ": --" + option + " FILE is missing");
  return value;
}

struct KnownTokenizer {
  std::unique_ptr<io::Tokenizer> tokenizer;  ///< null: it is not known
  std::string vocab_dir;
};

/// Of the model's tokens: by --vocab, else as the checkpoint says. Says what would be needed where it is not known.
KnownTokenizer known_tokenizer(const CommandLine& line, const io::VerifiedCheckpoint& checkpoint) {
  const io::CheckpointInfo& info = checkpoint.info;
  const std::filesystem::path& file = checkpoint.file.path();
  try {
    const TokenizerChoice choice = choose_tokenizer(line, io::claim_of_checkpoint(file, info), info);
    if (!choice.is_known)
      throw kernels::Error(
          kernels::Scope::rank,
          file.string() + " does not say what its tokens stand for (--vocab DIR, for GPT-2's)");
    auto tokenizer = choice.create();
    if (tokenizer->vocab_size() > info.model.vocab_size)
      throw kernels::Error(kernels::Scope::rank,
                           format("the tokenizer %s has %lld tokens, the model %lld", choice.name.c_str(),
                                  static_cast<long long>(tokenizer->vocab_size()),
                                  static_cast<long long>(info.model.vocab_size)));
    return {std::move(tokenizer), choice.vocab_dir};
  } catch (const kernels::Error& error) {
    if (line.has("vocab")) throw;
    print_notice(std::string("no tokenizer is written beside the model: ") + error.what());
    return {};
  }
}

}  // namespace

int import_command(const std::vector<std::string>& arguments, const Build& build) {
  constexpr std::int64_t kMostHeads = 1 << 20;
  const CommandLine line({"import", {"out", "num-attention-heads"}, {}, 1, 1}, arguments);
  const std::string out = required(line, "import", "out");
  std::optional<std::int64_t> heads;
  if (line.has("num-attention-heads")) heads = line.integer("num-attention-heads", 0, 1, kMostHeads);
  io::CheckpointOrigin origin;
  origin.tenax_version = build.version;
  origin.commit = build.commit;
  const auto [info, ignored] = io::import_safetensors(line.positional().front(), out, heads, origin);
  std::printf("%s: GPT-2 with %lld layers, %lld heads, width %lld, vocabulary %lld, %zu tensors\n",
              out.c_str(), static_cast<long long>(info.model.num_layers),
              static_cast<long long>(info.model.num_attention_heads),
              static_cast<long long>(info.model.hidden_size), static_cast<long long>(info.model.vocab_size),
              info.parameters.size());
  if (ignored.empty()) return 0;
  std::printf("ignored, for they are no parameters:");
  for (const std::string& name : ignored) std::printf(" %s", io::excerpt(name).c_str());
  std::printf("\n");
  return 0;
}

int export_command(const std::vector<std::string>& arguments) {
  const CommandLine line({"export", {"out", "dtype", "vocab", "shard-size"}, {}, 1, 1}, arguments);
  const std::string out = required(line, "export", "out");
  const io::VerifiedCheckpoint checkpoint = checkpoint_of_argument(line.positional().front());
  io::ExportOptions options{.dtype = line.text("dtype", "F32"),
                            .shard_bytes = line.integer("shard-size", 0, 1, INT64_MAX)};
  const auto [tokenizer, vocab_dir] = known_tokenizer(line, checkpoint);
  options.tokenizer = tokenizer.get();
  options.vocab_dir = vocab_dir;
  io::export_safetensors(checkpoint, out, options);
  const bool is_one_file = std::filesystem::exists(out);
  std::printf("%s%s\n", out.c_str(), is_one_file ? "" : ".index.json");
  return 0;
}

}  // namespace tenax::app
