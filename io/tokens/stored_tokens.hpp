// StoredTokens: the tokens of a file on disk.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "io/tokens/token_bytes.hpp"
#include "io/tokens/token_file.hpp"
#include "io/tokens/token_hdf5.hpp"

namespace tenax::io {

/// Reads unsigned little-endian numbers of 1, 2 or 4 bytes, in pieces of equal length; the last
/// piece may be shorter. If the file has checksums, read() compares whole blocks with them and
/// throws where they differ.
class StoredTokens final : public TokenFile {
 public:
  using Locate = std::function<TokenPieces()>;
  /// `size` gives number and width of the tokens. `locate` gives their place; it is called once, at
  /// the first read. read() throws for a token that is not below `vocab_size`; 0 allows all.
  StoredTokens(TokenBytes bytes, const TokenPieces& size, Locate locate, std::int64_t vocab_size);
  /// For known `pieces`.
  StoredTokens(TokenBytes bytes, const TokenPieces& pieces, std::int64_t vocab_size)
      : StoredTokens(
            std::move(bytes), pieces, [pieces] { return pieces; }, vocab_size) {}

  const std::filesystem::path& path() const override { return bytes_.path(); }
  std::int64_t size() const override { return tokens_; }
  void read(std::int64_t begin, std::span<std::int32_t> out) const override;
  std::int64_t find_at_least(std::int64_t limit, std::int64_t begin, std::int64_t end) const override;
  void close() override { bytes_.close(); }

 private:
  const TokenPieces& pieces() const;
  void read_unchecked(std::int64_t begin, std::span<std::int32_t> out) const;
  std::vector<std::byte> read_bytes(std::int64_t begin, std::int64_t end) const;
  void verify(std::int64_t begin, std::span<const std::byte> bytes) const;
  bool may_reach(std::int64_t limit) const;

  TokenBytes bytes_;
  std::size_t width_;  // bytes of a token
  std::int64_t tokens_, vocab_size_;
  Locate locate_;
  mutable std::once_flag located_;
  mutable TokenPieces pieces_;
};

}  // namespace tenax::io
