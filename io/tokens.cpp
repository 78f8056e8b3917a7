// All kinds of file come down to fixed-width token numbers in memory: bytes are their own tokens.
#include "io/tokens.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <utility>
#include <vector>

#include "io/token_file.hpp"
#include "io/tokenizer.hpp"
#include "io/tokens_map.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using kernels::Error;
using kernels::Scope;
static_assert(std::endian::native == std::endian::little, "a .bin file is read as it lies in memory");

/// The largest of `tokens`, by a loop that compilers vectorise.
template <class Token>
Token largest(std::span<const Token> tokens) {
  Token most = 0;
  for (const Token token : tokens) most = token > most ? token : most;
  return most;
}

/// Tokens in memory: pieces of equal length, the last maybe shorter.
template <class Token>
class StoredTokens final : public TokenFile {
 public:
  using Piece = std::span<const Token>;
  /// `owner` keeps the memory. No piece is empty.
  StoredTokens(std::shared_ptr<const void> owner, std::vector<Piece> pieces)
      : owner_(std::move(owner)), pieces_(std::move(pieces)) {
    for (const Piece piece : pieces_) size_ += static_cast<std::int64_t>(piece.size());
  }

  std::int64_t size() const override { return size_; }

  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    assert(begin >= 0 && begin + static_cast<std::int64_t>(out.size()) <= size());
    while (!out.empty()) {
      const Piece found = from(begin, begin + static_cast<std::int64_t>(out.size()));
      std::copy(found.begin(), found.end(), out.begin());
      out = out.subspan(found.size());
      begin += static_cast<std::int64_t>(found.size());
    }
  }

  std::int64_t find_at_least(std::int64_t limit, std::int64_t begin, std::int64_t end) const override {
    assert(begin >= 0 && begin <= end && end <= size());
    if (limit > std::numeric_limits<Token>::max()) return end;
    constexpr std::int64_t kBlock = 1 << 14;
    while (begin < end) {
      const Piece block = from(begin, std::min(begin + kBlock, end));
      if (largest(block) >= limit) {
        const auto found =
            std::find_if(block.begin(), block.end(), [&](Token token) { return token >= limit; });
        return begin + (found - block.begin());
      }
      begin += static_cast<std::int64_t>(block.size());
    }
    return end;
  }

 private:
  /// [begin, end), or what is in begin's piece of it.
  Piece from(std::int64_t begin, std::int64_t end) const {
    const std::size_t length = pieces_.front().size(), at = static_cast<std::size_t>(begin);
    const Piece rest = pieces_[at / length].subspan(at % length);
    return rest.first(std::min(rest.size(), static_cast<std::size_t>(end - begin)));
  }

  std::shared_ptr<const void> owner_;
  std::vector<Piece> pieces_;
  std::int64_t size_ = 0;
};

template <class Token>
std::unique_ptr<TokenFile> map_array(const std::filesystem::path& file) {
  auto map = std::make_shared<FileMap>(file);
  const auto bytes = map->bytes();
  if (bytes.size() % sizeof(Token) != 0) {
    throw Error(Scope::rank, "token file " + file.string() + ": truncated: its " +
                                 std::to_string(bytes.size()) + " bytes are not a whole number of " +
                                 std::to_string(sizeof(Token)) + "-byte tokens");
  }
  const std::span tokens(reinterpret_cast<const Token*>(bytes.data()), bytes.size() / sizeof(Token));
  return std::make_unique<StoredTokens<Token>>(std::move(map), std::vector{tokens});
}

/// HDF5 only says where in the file the tokens are.
template <class Token>
std::unique_ptr<TokenFile> map_pieces(const std::filesystem::path& file, const TokenPieces& where) {
  auto map = std::make_shared<FileMap>(file);
  std::vector<std::span<const Token>> pieces;
  std::int64_t left = where.tokens;
  for (const std::int64_t offset : where.offsets) {
    const std::int64_t count = std::min(left, where.piece_tokens);
    const auto begin = static_cast<std::size_t>(offset),
               bytes = static_cast<std::size_t>(count) * sizeof(Token);
    if (begin % sizeof(Token) != 0)
      throw Error(Scope::rank,
                  "token file " + file.string() +
                      ": /tokens does not begin at a whole word of the file; write it by tenax tokenize");
    if (begin > map->bytes().size() || bytes > map->bytes().size() - begin)
      throw Error(Scope::rank, "token file " + file.string() + ": truncated: its tokens go beyond its end");
    const auto* const first = reinterpret_cast<const Token*>(map->bytes().data() + begin);
    pieces.emplace_back(first, static_cast<std::size_t>(count));
    left -= count;
  }
  return std::make_unique<StoredTokens<Token>>(std::move(map), std::move(pieces));
}

std::unique_ptr<TokenFile> map_hdf5(const std::filesystem::path& file) {
  const TokenPieces where = locate_tokens(file);
  if (where.tokens == 0)
    throw Error(Scope::rank, "token file " + file.string() + ": there are no tokens in it");
  return where.bytes_per_token == 2 ? map_pieces<std::uint16_t>(file, where)
                                    : map_pieces<std::uint32_t>(file, where);
}

template <class Token>
std::unique_ptr<TokenFile> copy_of(const std::vector<std::int32_t>& tokens) {
  auto kept = std::make_shared<const std::vector<Token>>(tokens.begin(), tokens.end());
  const std::span<const Token> whole(*kept);
  return std::make_unique<StoredTokens<Token>>(std::move(kept), std::vector{whole});
}

std::unique_ptr<TokenFile> narrow_copy_of(const std::vector<std::int32_t>& tokens) {
  const bool fits_uint16 = tokens.empty() || *std::max_element(tokens.begin(), tokens.end()) <= UINT16_MAX;
  return fits_uint16 ? copy_of<std::uint16_t>(tokens) : copy_of<std::int32_t>(tokens);
}

std::unique_ptr<TokenFile> open_text(const std::filesystem::path& file, const std::string& tokenizer,
                                     const std::filesystem::path& vocab_dir) {
  if (tokenizer == "bytes") return map_array<std::uint8_t>(file);
  const FileMap text(file);
  return narrow_copy_of(encode(*Tokenizer::create(tokenizer, vocab_dir),
                               {reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size()}));
}

std::unique_ptr<TokenFile> open_tokens(const std::filesystem::path& file, const std::string& tokenizer,
                                       const std::filesystem::path& vocab_dir) {
  const std::string ending = file.extension().string();
  if (ending == ".bin") return map_array<std::uint16_t>(file);
  if (ending == ".h5") return map_hdf5(file);
  if (ending == ".txt") return open_text(file, tokenizer, vocab_dir);
  throw Error(Scope::usage, "token file " + file.string() +
                                ": its name must end in .txt (text), .bin (little-endian uint16 tokens) or "
                                ".h5 (of tenax tokenize)");
}

std::unique_ptr<TokenFile> checked(std::unique_ptr<TokenFile> tokens, const std::filesystem::path& file,
                                   const TokenDemands& demands) {
  if (tokens->size() <= demands.seq_length) {
    throw Error(Scope::rank,
                "token file " + file.string() + ": too short: a sequence of model.seq_length = " +
                    std::to_string(demands.seq_length) + " needs " + std::to_string(demands.seq_length + 1) +
                    " tokens, but it has " + std::to_string(tokens->size()));
  }
  if (demands.scan) check_tokens(*tokens, file, demands.vocab_size, 0, tokens->size());
  return tokens;
}

}  // namespace

void check_tokens(const TokenFile& tokens, const std::filesystem::path& file, std::int64_t vocab_size,
                  std::int64_t begin, std::int64_t end) {
  const std::int64_t position = tokens.find_at_least(vocab_size, begin, end);
  if (position == end) return;
  std::int32_t token = 0;
  tokens.read(position, {&token, 1});
  throw Error(Scope::rank, "token file " + file.string() + ": token " + std::to_string(token) +
                               " at position " + std::to_string(position) +
                               " is not below model.vocab_size = " + std::to_string(vocab_size));
}

std::unique_ptr<TokenFile> TokenFile::open(const std::filesystem::path& file, const std::string& tokenizer,
                                           const TokenDemands& demands,
                                           const std::filesystem::path& vocab_dir) {
  return checked(open_tokens(file, tokenizer, vocab_dir), file, demands);
}

std::unique_ptr<TokenFile> TokenFile::keep(const std::vector<std::int32_t>& tokens,
                                           const std::filesystem::path& file, const TokenDemands& demands) {
  return checked(narrow_copy_of(tokens), file, demands);
}

}  // namespace tenax::io
