#include "app/tokenize_command.hpp"

#include <glob.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/command_line.hpp"
#include "app/progress_bar.hpp"
#include "app/units.hpp"
#include "io/detokenize.hpp"
#include "io/tokenize.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

/// A name with wildcards stands for the files that match it, sorted, unless a file has that very name.
std::vector<fs::path> matches(const std::string& name) {
  std::error_code none;
  if (name.find_first_of("*?[") == std::string::npos || fs::exists(name, none)) return {name};
  glob_t found{};
  const int status = ::glob(name.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found);
  const std::vector<fs::path> files(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  if (files.empty()) throw Error(Scope::rank, "tokenize: no file matches " + name);
  return files;
}

std::vector<fs::path> texts_of(const CommandLine& line) {
  std::vector<fs::path> texts;
  for (const std::string& name : line.positional())
    for (const fs::path& file : matches(name)) texts.push_back(file);
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

int cores() {
  cpu_set_t usable;
  return sched_getaffinity(0, sizeof usable, &usable) == 0 ? std::max(1, CPU_COUNT(&usable)) : 1;
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
  std::printf("%s: %lld bytes\n", out.c_str(), static_cast<long long>(io::detokenize(file, texts, out)));
  return 0;
}

}  // namespace

int tokenize_command(const std::vector<std::string>& arguments) {
  constexpr int kManyFiles = 1 << 30, kManyThreads = 4096;
  const CommandLine line({"tokenize", {"out", "tokenizer", "vocab", "decode", "threads"}, {}, 0, kManyFiles},
                         arguments);
  if (line.has("decode")) return decode(line);
  if (line.positional().empty())
    throw Error(Scope::usage, "tokenize: no text is given (see tenax tokenize --help)");
  const std::string out = required_out(line);
  const auto threads = static_cast<int>(line.integer("threads", cores(), 1, kManyThreads));
  const auto tokenizer = io::Tokenizer::create(line.text("tokenizer", "bytes"), line.text("vocab", ""));
  const std::vector<fs::path> texts = texts_of(line);
  const std::int64_t size = total_size(texts);
  Interruption interruption(size > 0);  // where nothing is known of the size, a read may wait for ever
  const auto writer = io::TokenWriter::create(out, *tokenizer, names_of(texts));
  std::string summary;
  {
    ProgressBar bar(size);
    const std::int64_t bytes =
        io::tokenize_files(texts, *tokenizer, *writer, threads, [&](std::int64_t done) {
          interruption.check();
          bar.show(done);
        });
    writer->publish();
    const auto text_bytes = static_cast<double>(bytes);
    summary = format("%s: %lld tokens in %lld document%s, %.3f bytes a token, %.1f MB/s", out.c_str(),
                     static_cast<long long>(writer->tokens()), static_cast<long long>(writer->documents()),
                     writer->documents() == 1 ? "" : "s", text_bytes / static_cast<double>(writer->tokens()),
                     text_bytes / bar.seconds() / 1e6);
  }
  std::printf("%s\n", summary.c_str());
  return 0;
}

}  // namespace tenax::app
