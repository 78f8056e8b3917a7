// Both kinds of file are an array of fixed-width token numbers: bytes are their own tokens.
#include "io/tokens.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

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

template <class Token>
class MappedTokens final : public TokenFile {
 public:
  explicit MappedTokens(const std::filesystem::path& file) : map_(file) {
    const auto bytes = map_.bytes();
    if (bytes.size() % sizeof(Token) != 0) {
      throw Error(Scope::rank, "token file " + file.string() + ": truncated: its " +
                                   std::to_string(bytes.size()) + " bytes are not a whole number of " +
                                   std::to_string(sizeof(Token)) + "-byte tokens");
    }
    tokens_ = {reinterpret_cast<const Token*>(bytes.data()), bytes.size() / sizeof(Token)};
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(tokens_.size()); }

  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    assert(begin >= 0 && begin + static_cast<std::int64_t>(out.size()) <= size());
    std::copy_n(tokens_.begin() + begin, out.size(), out.begin());
  }

  std::int64_t find_at_least(std::int64_t limit, std::int64_t begin, std::int64_t end) const override {
    assert(begin >= 0 && begin <= end && end <= size());
    if (limit > std::numeric_limits<Token>::max()) return end;
    constexpr std::int64_t kBlock = 1 << 14;
    for (std::int64_t at = begin; at < end; at += kBlock) {
      const auto block =
          tokens_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(std::min(kBlock, end - at)));
      if (largest(block) < limit) continue;
      const auto found =
          std::find_if(block.begin(), block.end(), [&](Token token) { return token >= limit; });
      return at + (found - block.begin());
    }
    return end;
  }

 private:
  FileMap map_;
  std::span<const Token> tokens_;
};

std::unique_ptr<TokenFile> map_tokens(const std::filesystem::path& file, const std::string& tokenizer) {
  const std::string ending = file.extension().string();
  if (ending == ".bin") return std::make_unique<MappedTokens<std::uint16_t>>(file);
  if (ending != ".txt") {
    throw Error(Scope::usage, "token file " + file.string() +
                                  ": its name must end in .txt (text) or .bin (little-endian uint16 tokens)");
  }
  if (tokenizer != "bytes") {
    throw Error(Scope::usage, "token file " + file.string() + ": the tokenizer " + tokenizer +
                                  " is not supported by this version of tenax: it tokenizes bytes");
  }
  return std::make_unique<MappedTokens<std::uint8_t>>(file);
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
                                           const TokenDemands& demands) {
  auto tokens = map_tokens(file, tokenizer);
  const auto fail = [&](const std::string& what) {
    throw Error(Scope::rank, "token file " + file.string() + ": " + what);
  };
  if (tokens->size() <= demands.seq_length) {
    fail("too short: a sequence of model.seq_length = " + std::to_string(demands.seq_length) + " needs " +
         std::to_string(demands.seq_length + 1) + " tokens, but it has " + std::to_string(tokens->size()));
  }
  if (!demands.scan) return tokens;
  check_tokens(*tokens, file, demands.vocab_size, 0, tokens->size());
  return tokens;
}

}  // namespace tenax::io
