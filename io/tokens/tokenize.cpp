// The calling thread keeps a queue of chunks: it reads new ones at the end and writes the tokens of the oldest.
#include "io/tokens/tokenize.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <span>

#include "io/tokens/encode_pool.hpp"
#include "io/tokens/text_chunks.hpp"
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

}  // namespace

std::int64_t tokenize_files(const std::vector<std::filesystem::path>& texts, const Tokenizer& tokenizer,
                            TokenSink& writer, int threads, const TokenizeProgress& progress) {
  Run run(tokenizer, writer, threads, progress);
  for (const auto& file : texts) run.add_file(file);
  const std::int64_t bytes = run.finish();
  if (bytes == 0) throw Error(Scope::rank, "there is nothing to tokenize: the texts are empty");
  return bytes;
}

}  // namespace tenax::io
