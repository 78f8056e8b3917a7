// TokenFile: a training or validation text as token numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenax::io {

/// Demands on a file to be trained on.
struct TokenDemands {
  std::int64_t seq_length = 0;  ///< the file has at least one more token than this
  std::int64_t vocab_size = 0;  ///< every token is below it; 0 allows all
  bool scan = true;             ///< look at every token when the file is opened, not only when it is read
};

/// Immutable but for close(); may be used from several threads. The file must not change while it
/// is in use.
class TokenFile {
 public:
  /// The ending gives the format: .bin (io/tokens/token_bin.hpp), .h5 of `tenax tokenize`
  /// (io/tokens/token_hdf5.hpp), or .txt, which `tokenizer` (as in the deck, gpt2 with `vocab_dir`)
  /// tokenizes now. Tokens stay on disk, except those of gpt2, which are kept in 2 bytes each.
  /// Throws Error(usage) for another ending or tokenizer. Throws Error(rank) for a file that is
  /// missing, empty, truncated or too short, and for the first token that is not below vocab_size.
  static std::unique_ptr<TokenFile> open(const std::filesystem::path& file, const std::string& tokenizer,
                                         const TokenDemands& demands,
                                         const std::filesystem::path& vocab_dir = {});
  /// Keeps `tokens`, which are not negative, in 2 or 4 bytes each. `file` is for messages. Throws
  /// as open().
  static std::unique_ptr<TokenFile> keep(const std::vector<std::int32_t>& tokens,
                                         const std::filesystem::path& file, const TokenDemands& demands);
  virtual ~TokenFile() = default;

  virtual const std::filesystem::path& path() const = 0;
  virtual std::int64_t size() const = 0;  ///< tokens
  /// Reads tokens[begin, begin + out.size()), which exist. Throws Error(rank) if they cannot be
  /// read, or if one is not below the demanded vocab_size.
  virtual void read(std::int64_t begin, std::span<std::int32_t> out) const = 0;
  /// The first position in [begin, end) whose token is at least `limit`; `end` if there is none.
  virtual std::int64_t find_at_least(std::int64_t limit, std::int64_t begin, std::int64_t end) const = 0;
  /// Closes the descriptor; the next read opens the file again. Not while another thread uses this.
  virtual void close() {}
};

/// Throws Error(rank) that names the first token of [begin, end) that is not below vocab_size, if
/// there is one.
void check_tokens(const TokenFile& tokens, std::int64_t vocab_size, std::int64_t begin, std::int64_t end);
/// Throws Error(rank): `token` at `position` is not below vocab_size.
[[noreturn]] void refuse_token(const std::filesystem::path& file, std::int32_t token, std::int64_t position,
                               std::int64_t vocab_size);

}  // namespace tenax::io
