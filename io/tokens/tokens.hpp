// TokenFile: a training or validation text as token numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenax::io {

/// What a file must offer to be trained on.
struct TokenDemands {
  std::int64_t seq_length = 0;  ///< the file has at least one more token than this
  std::int64_t vocab_size = 0;  ///< every token is below it; 0 takes all
  bool scan = true;             ///< look at every token when the file is opened, not only when it is read
};

/// Immutable but for close(); may be used from several threads. The file must not change while it is in use.
class TokenFile {
 public:
  /// By the ending: .bin is raw little-endian uint16, or says what it is (io/tokens/token_bin.hpp), .h5 is `tenax tokenize`'s
  /// (io/tokens/token_file.hpp), .txt is tokenized on the fly by `tokenizer` (as in the deck, gpt2 with `vocab_dir`). They are
  /// read where they lie, but the tokens of gpt2, which are made here and kept: 2 bytes each. Throws Error(usage) for
  /// another ending or tokenizer, Error(rank) for a file that is missing, empty, truncated, too short, or has a token that
  /// is not below vocab_size (naming the first).
  static std::unique_ptr<TokenFile> open(const std::filesystem::path& file, const std::string& tokenizer,
                                         const TokenDemands& demands,
                                         const std::filesystem::path& vocab_dir = {});
  /// The tokens of a text, made elsewhere, not negative; 2 bytes each are kept, or 4. `file` is for messages. Throws as
  /// open().
  static std::unique_ptr<TokenFile> keep(const std::vector<std::int32_t>& tokens,
                                         const std::filesystem::path& file, const TokenDemands& demands);
  virtual ~TokenFile() = default;

  virtual const std::filesystem::path& path() const = 0;
  virtual std::int64_t size() const = 0;  ///< tokens
  /// tokens[begin, begin + out.size()). Asserts that they exist. Throws Error(rank) if they cannot be read, or one is not
  /// below the demanded vocab_size.
  virtual void read(std::int64_t begin, std::span<std::int32_t> out) const = 0;
  /// The first position in [begin, end) whose token is at least `limit`; `end` if there is none.
  virtual std::int64_t find_at_least(std::int64_t limit, std::int64_t begin, std::int64_t end) const = 0;
  /// Gives back what the system counts: the next read opens the file again. Not while another thread uses it.
  virtual void close() {}
};

/// Throws Error(rank) naming the first token of [begin, end) that is not below vocab_size.
void check_tokens(const TokenFile& tokens, std::int64_t vocab_size, std::int64_t begin, std::int64_t end);
/// Throws Error(rank): that token is not below vocab_size.
[[noreturn]] void refuse_token(const std::filesystem::path& file, std::int32_t token, std::int64_t position,
                               std::int64_t vocab_size);

}  // namespace tenax::io
