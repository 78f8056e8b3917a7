// The calling thread keeps a queue of chunks: it reads new ones at the end and writes the tokens of the oldest.
#include "io/tokens/tokenize.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <span>

#include "io/output_place.hpp"
#include "io/tokenizer/tokenizer.hpp"
#include "io/tokens/encode_pool.hpp"
#include "io/tokens/text_chunks.hpp"
#include "io/tokens/token_file.hpp"
#include "io/tokens/token_hdf5.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using kernels::Error;
using kernels::Scope;

// The longest word there may be takes some minutes.
constexpr std::chrono::minutes kDeadline{30};

class Run {
 public:
  Run(const Tokenizer& tokenizer, TokenSink& writer, int threads, const TokenizeProgress& progress)
      : tokenizer_(tokenizer),
        writer_(writer),
        progress_(progress),
        most_chunks_(2 * static_cast<std::size_t>(threads) + 2),
        pool_(tokenizer, threads) {}

  void add_file(const std::filesystem::path& file) {
    TextChunks chunks(file, tokenizer_);
    bool is_first = true;
    for (std::string text = chunks.next(); !text.empty(); text = chunks.next()) {
      if (queue_.size() == most_chunks_) write_oldest();
      const std::size_t bytes = text.size();
      queue_.push_back({pool_.encode(std::move(text)), bytes, is_first});
      is_first = false;
    }
  }

  std::int64_t finish() {
    while (!queue_.empty()) write_oldest();
    return bytes_;
  }

 private:
  struct Chunk {
    std::future<EncodePool::Tokens> tokens;
    std::size_t bytes;
    bool begins_file;
  };

  void write_oldest() {
    Chunk chunk = std::move(queue_.front());
    queue_.pop_front();
    if (chunk.tokens.wait_for(kDeadline) != std::future_status::ready)
      throw Error(Scope::rank, "tokenizing " + std::to_string(chunk.bytes) + " bytes has not ended for " +
                                   std::to_string(kDeadline.count()) + " minutes");
    if (chunk.begins_file) separate();
    append(chunk.tokens.get());
    bytes_ += static_cast<std::int64_t>(chunk.bytes);
    progress_(bytes_);
  }

  void separate() {
    const auto separator = tokenizer_.end_of_text();
    if (separator && writer_.tokens() > 0 && !ends_with_separator_) writer_.append({&*separator, 1});
    writer_.begin_document();
  }

  /// A document ends with each separator.
  void append(std::span<const std::int32_t> tokens) {
    const auto separator = tokenizer_.end_of_text();
    while (!tokens.empty()) {
      const auto found = separator ? std::find(tokens.begin(), tokens.end(), *separator) : tokens.end();
      ends_with_separator_ = found != tokens.end();
      const std::size_t length =
          static_cast<std::size_t>(found - tokens.begin()) + (ends_with_separator_ ? 1 : 0);
      writer_.append(tokens.first(length));
      if (ends_with_separator_) writer_.begin_document();
      tokens = tokens.subspan(length);
    }
  }

  const Tokenizer& tokenizer_;
  TokenSink& writer_;
  const TokenizeProgress& progress_;
  std::size_t most_chunks_;
  EncodePool pool_;
  std::deque<Chunk> queue_;
  bool ends_with_separator_ = false;
  std::int64_t bytes_ = 0;
};

bool is_hdf5(const std::filesystem::path& file) { return file.extension() == ".h5"; }

std::vector<std::string> texts_of(const Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (std::int32_t token = 0; token < tokenizer.vocab_size(); ++token)
    texts.emplace_back(tokenizer.bytes_of(token));
  return texts;
}

void check(std::span<const std::int32_t> tokens, std::size_t vocab_size, const std::filesystem::path& file,
           std::int64_t first) {
  const auto wrong = std::find_if(tokens.begin(), tokens.end(), [&](std::int32_t token) {
    return static_cast<std::uint32_t>(token) >= vocab_size;
  });
  if (wrong == tokens.end()) return;
  throw kernels::Error(kernels::Scope::rank,
                       "token file " + file.string() + ": token " + std::to_string(*wrong) + " at position " +
                           std::to_string(first + (wrong - tokens.begin())) + " is not one of the " +
                           std::to_string(vocab_size) + " of its tokenizer; is it another's file?");
}

}  // namespace

std::int64_t tokenize_files(const std::vector<std::filesystem::path>& texts, const Tokenizer& tokenizer,
                            TokenSink& writer, int threads, const TokenizeProgress& progress) {
  Run run(tokenizer, writer, threads, progress);
  for (const auto& file : texts) run.add_file(file);
  const std::int64_t bytes = run.finish();
  if (bytes == 0) throw Error(Scope::rank, "there is nothing to tokenize: the texts are empty");
  return bytes;
}

std::vector<std::string> token_texts(const std::filesystem::path& file, const std::string& tokenizer,
                                     const std::filesystem::path& vocab_dir) {
  if (!is_hdf5(file)) return texts_of(*Tokenizer::create(tokenizer, vocab_dir));
  if (read_token_file_info(file).tokenizer == "bytes") return texts_of(*Tokenizer::create("bytes", {}));
  return read_token_vocabulary(file);
}

std::int64_t detokenize(const std::filesystem::path& file, const std::vector<std::string>& texts,
                        const std::filesystem::path& text) {
  if (is_hdf5(file)) verify_token_file(file);
  const auto tokens = TokenFile::open(file, "bytes", {.seq_length = 0, .vocab_size = 0, .scan = false});
  TextOutput out(text);
  std::vector<std::int32_t> block(1 << 16);
  std::string bytes;
  std::int64_t written = 0;
  for (std::int64_t at = 0; at < tokens->size(); at += static_cast<std::int64_t>(block.size())) {
    block.resize(std::min(block.size(), static_cast<std::size_t>(tokens->size() - at)));
    tokens->read(at, block);
    bytes.clear();
    check(block, texts.size(), file, at);
    for (const std::int32_t token : block) bytes += texts[static_cast<std::size_t>(token)];
    out.append(bytes);
    written += static_cast<std::int64_t>(bytes.size());
  }
  out.publish();
  return written;
}

}  // namespace tenax::io
