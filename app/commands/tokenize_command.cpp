#include "app/commands/commands.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/command_line.hpp"
#include "app/progress.hpp"
#include "app/units.hpp"
#include "io/file_names.hpp"
#include "io/tokens/sharded_token_writer.hpp"
#include "io/tokens/tokenize.hpp"
#include "kernels/error.hpp"
#include "kernels/host.hpp"

namespace tenax::app {

namespace {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

std::vector<fs::path> texts_of(const CommandLine& line) {
  std::vector<fs::path> texts;
  for (const std::string& name : line.positional())
    for (const fs::path& file : io::matching_files(name)) texts.push_back(file);
  return texts;
}

std::vector<std::string> names_of(const std::vector<fs::path>& files) { return {files.begin(), files.end()}; }

/// Of all; 0 if one is no regular file, a pipe say.
std::int64_t total_size(const std::vector<fs::path>& files) {
  std::int64_t sum = 0;
  for (const fs::path& file : files) {
    std::error_code failure;
    if (!fs::is_regular_file(file, failure)) return 0;
    sum += static_cast<std::int64_t>(fs::file_size(file, failure));
  }
  return sum;
}

/// SIGINT and SIGTERM as an exception, so that half a file does not stay behind. Create it before any thread starts.
class Interruption {
 public:
  explicit Interruption(bool is_held_back) {
    sigemptyset(&signals_);
    if (!is_held_back) return;
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  void check() {
    const timespec at_once{};
    if (sigtimedwait(&signals_, nullptr, &at_once) > 0)
      throw Error(Scope::rank, "tokenize: interrupted; nothing was written");
  }

 private:
  sigset_t signals_{};
};

std::string required_out(const CommandLine& line) {
  const std::string out = line.text("out", "");
  if (out.empty()) throw Error(Scope::usage, "tokenize: --out FILE is missing (see tenax tokenize --help)");
  return out;
}

int decode(const CommandLine& line) {
  const std::string file = line.text("decode", ""), out = required_out(line);
  const bool is_self_contained = fs::path(file).extension() == ".h5";
  if (!line.positional().empty())
    throw Error(Scope::usage,
                "tokenize: --decode takes one file, so " + line.positional().front() + " is one too many");
  if (is_self_contained && (line.has("tokenizer") || line.has("vocab")))
    throw Error(Scope::usage,
                "tokenize: a .h5 file holds its own vocabulary; leave out --tokenizer and --vocab");
  const auto texts = io::token_texts(file, line.text("tokenizer", "bytes"), line.text("vocab", ""));
  const bool is_stream = io::is_stream(out);
  const std::int64_t bytes = io::detokenize(file, texts, out);
  std::fprintf(is_stream ? stderr : stdout, "%s: %lld bytes\n", out.c_str(), static_cast<long long>(bytes));
  return 0;
}

std::string counted(std::int64_t number, const char* thing) {
  return format("%lld %s%s", static_cast<long long>(number), thing, number == 1 ? "" : "s");
}

std::string summary(const io::TokenSink& written, std::int64_t text_bytes, double seconds) {
  const auto bytes = static_cast<double>(text_bytes);
  return format("%s: %s in %s, %.3f bytes a token, %.1f MB/s", written.files().c_str(),
                counted(written.tokens(), "token").c_str(), counted(written.documents(), "document").c_str(),
                bytes / static_cast<double>(written.tokens()), bytes / seconds / 1e6);
}

std::unique_ptr<io::TokenSink> create_sink(const CommandLine& line, const io::Tokenizer& tokenizer,
                                           const std::vector<std::string>& sources) {
  const std::string out = required_out(line);
  if (!line.has("shard-tokens")) return io::TokenWriter::create(out, tokenizer, sources);
  return std::make_unique<io::ShardedTokenWriter>(out, tokenizer, sources,
                                                  line.integer("shard-tokens", 0, 1, INT64_MAX));
}

}  // namespace

int tokenize_command(const std::vector<std::string>& arguments) {
  constexpr int kManyFiles = 1 << 30, kManyThreads = 4096;
  const CommandLine line(
      {"tokenize", {"out", "tokenizer", "vocab", "decode", "threads", "shard-tokens"}, {}, 0, kManyFiles},
      arguments);
  if (line.has("decode")) return decode(line);
  if (line.positional().empty())
    throw Error(Scope::usage, "tokenize: no text is given (see tenax tokenize --help)");
  required_out(line);
  const auto threads = static_cast<int>(line.integer("threads", kernels::usable_cores(), 1, kManyThreads));
  const auto tokenizer = io::Tokenizer::create(line.text("tokenizer", "bytes"), line.text("vocab", ""));
  const std::vector<fs::path> texts = texts_of(line);
  const std::int64_t size = total_size(texts);
  Interruption interruption(size > 0);  // where nothing is known of the size, a read may wait for ever
  const auto sink = create_sink(line, *tokenizer, names_of(texts));
  std::string said;
  {
    ProgressBar bar(size);
    const std::int64_t bytes = io::tokenize_files(texts, *tokenizer, *sink, threads, [&](std::int64_t done) {
      interruption.check();
      bar.show(done);
    });
    sink->publish();
    said = summary(*sink, bytes, bar.seconds());
  }
  std::printf("%s\n", said.c_str());
  return 0;
}

}  // namespace tenax::app
