#include "io/tokens/token_file.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "io/file_names.hpp"
#include "io/tokenizer/tokenizer.hpp"
#include "io/tokens/stored_tokens.hpp"
#include "io/tokens/token_bin.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using kernels::Error;
using kernels::Scope;
using Path = std::filesystem::path;

/// Tokens in memory.
template <class Token>
class KeptTokens final : public TokenFile {
 public:
  KeptTokens(Path path, const std::vector<std::int32_t>& tokens, std::int64_t vocab_size)
      : path_(std::move(path)), tokens_(tokens.begin(), tokens.end()), vocab_size_(vocab_size) {}

  const Path& path() const override { return path_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(tokens_.size()); }

  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    const std::int64_t end = begin + static_cast<std::int64_t>(out.size());
    assert(begin >= 0 && end <= size());
    std::copy_n(tokens_.begin() + begin, out.size(), out.begin());
    const std::int64_t wrong = vocab_size_ == 0 ? end : find_at_least(vocab_size_, begin, end);
    if (wrong < end) refuse_token(path_, out[static_cast<std::size_t>(wrong - begin)], wrong, vocab_size_);
  }

  std::int64_t find_at_least(std::int64_t limit, std::int64_t begin, std::int64_t end) const override {
    assert(begin >= 0 && begin <= end && end <= size());
    const auto found = std::find_if(tokens_.begin() + begin, tokens_.begin() + end,
                                    [&](Token token) { return token >= limit; });
    return found - tokens_.begin();
  }

 private:
  Path path_;
  std::vector<Token> tokens_;
  std::int64_t vocab_size_;
};

std::unique_ptr<TokenFile> keep_narrow(const std::vector<std::int32_t>& tokens, const Path& file,
                                       std::int64_t vocab_size) {
  const bool fits_uint16 = tokens.empty() || *std::max_element(tokens.begin(), tokens.end()) <= UINT16_MAX;
  if (fits_uint16) return std::make_unique<KeptTokens<std::uint16_t>>(file, tokens, vocab_size);
  return std::make_unique<KeptTokens<std::int32_t>>(file, tokens, vocab_size);
}

std::unique_ptr<TokenFile> open_hdf5(const Path& file, std::int64_t vocab_size) {
  TokenBytes bytes(file);
  const TokenPieces size = measure_tokens(file);
  if (size.tokens == 0)
    throw Error(Scope::rank, "token file " + file.string() + ": there are no tokens in it");
  return std::make_unique<StoredTokens>(
      std::move(bytes), size, [file] { return locate_tokens(file); }, vocab_size);
}

std::unique_ptr<TokenFile> open_text(const Path& file, const std::string& tokenizer, const Path& vocab_dir,
                                     std::int64_t vocab_size) {
  TokenBytes bytes(file);
  if (tokenizer == "bytes") {
    const TokenPieces whole{1, bytes.size(), bytes.size(), {0}};
    return std::make_unique<StoredTokens>(std::move(bytes), whole, vocab_size);
  }
  const auto encoder = Tokenizer::create(tokenizer, vocab_dir);
  std::string text(static_cast<std::size_t>(bytes.size()), '\0');
  bytes.read(std::as_writable_bytes(std::span(text)), 0);
  return keep_narrow(encode(*encoder, text), file, vocab_size);
}

std::unique_ptr<TokenFile> open_tokens(const Path& file, const std::string& tokenizer, const Path& vocab_dir,
                                       std::int64_t vocab_size) {
  if (file.extension() == ".h5") return open_hdf5(file, vocab_size);
  if (file.extension() == ".txt") return open_text(file, tokenizer, vocab_dir, vocab_size);
  if (file.extension() == ".bin")
    return std::make_unique<StoredTokens>(TokenBytes(file), read_token_bin(file, vocab_size).pieces,
                                          vocab_size);
  throw Error(Scope::usage,
              "token file " + file.string() + ": its name must end in " + std::string(kTokenEndings));
}

std::unique_ptr<TokenFile> checked(std::unique_ptr<TokenFile> tokens, const TokenDemands& demands) {
  if (tokens->size() <= demands.seq_length) {
    throw Error(Scope::rank,
                "token file " + tokens->path().string() + ": too short: a sequence of model.seq_length = " +
                    std::to_string(demands.seq_length) + " needs " + std::to_string(demands.seq_length + 1) +
                    " tokens, but it has " + std::to_string(tokens->size()));
  }
  if (demands.scan) check_tokens(*tokens, demands.vocab_size, 0, tokens->size());
  return tokens;
}

}  // namespace

void check_tokens(const TokenFile& tokens, std::int64_t vocab_size, std::int64_t begin, std::int64_t end) {
  const std::int64_t position = tokens.find_at_least(vocab_size, begin, end);
  if (position == end) return;
  std::int32_t token = 0;
  tokens.read(position, {&token, 1});  // throws for itself where the file was opened with the same demand
  refuse_token(tokens.path(), token, position, vocab_size);
}

void refuse_token(const Path& file, std::int32_t token, std::int64_t position, std::int64_t vocab_size) {
  throw Error(Scope::rank, "token file " + file.string() + ": token " + std::to_string(token) +
                               " at position " + std::to_string(position) +
                               " is not below model.vocab_size = " + std::to_string(vocab_size));
}

std::unique_ptr<TokenFile> TokenFile::open(const Path& file, const std::string& tokenizer,
                                           const TokenDemands& demands, const Path& vocab_dir) {
  return checked(open_tokens(file, tokenizer, vocab_dir, demands.vocab_size), demands);
}

std::unique_ptr<TokenFile> TokenFile::keep(const std::vector<std::int32_t>& tokens, const Path& file,
                                           const TokenDemands& demands) {
  return checked(keep_narrow(tokens, file, demands.vocab_size), demands);
}

}  // namespace tenax::io
