#include "io/tokenizer/tokenizer.hpp"

#include <array>
#include <cassert>

#include "io/checksum.hpp"
#include "io/tokenizer/bpe.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

constexpr std::array<char, ByteTokenizer::kVocabSize> all_bytes() {
  std::array<char, ByteTokenizer::kVocabSize> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

constexpr auto kByteTokens = all_bytes();

class ByteEncoder final : public TextEncoder {
 public:
  void encode(std::string_view text, std::vector<std::int32_t>& tokens) override {
    tokens.reserve(tokens.size() + text.size());
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  }
};

}  // namespace

using kernels::Error;
using kernels::Scope;

std::unique_ptr<Tokenizer> Tokenizer::create(const std::string& name,
                                             const std::filesystem::path& vocab_dir) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  if (name != "gpt2") throw Error(Scope::usage, "unknown tokenizer " + name + ": it is bytes or gpt2");
  if (vocab_dir.empty())
    throw Error(
        Scope::usage,
        "the tokenizer gpt2 needs the folder with its encoder.json and vocab.bpe (data.vocab_dir in a deck, "
        "--vocab on a command line)");
  return std::make_unique<Bpe>(read_bpe_vocabulary(vocab_dir));
}

std::string vocabulary_checksum(std::span<const std::string> bytes_of_token) {
  std::string bytes;
  for (const std::string& token : bytes_of_token) {
    const auto length = static_cast<std::uint32_t>(token.size());
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(length >> shift & 0xFF);
    bytes += token;
  }
  return checksum_text(checksum_of_bytes(std::as_bytes(std::span(bytes)), 0));
}

std::string vocabulary_checksum(const Tokenizer& tokenizer) {
  if (tokenizer.name() == "bytes") return {};
  std::vector<std::string> bytes_of_token;
  for (std::int32_t token = 0; token < tokenizer.vocab_size(); ++token)
    bytes_of_token.emplace_back(tokenizer.bytes_of(token));
  return vocabulary_checksum(bytes_of_token);
}

std::vector<std::int32_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokenizer.create_encoder()->encode(text, tokens);
  return tokens;
}

std::string decode(const Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
  std::string text;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= tokenizer.vocab_size())
      throw Error(Scope::rank, "token " + std::to_string(token) + " is not in the vocabulary of " +
                                   std::to_string(tokenizer.vocab_size()) + " tokens of the tokenizer " +
                                   tokenizer.name());
    text += tokenizer.bytes_of(token);
  }
  return text;
}

std::string_view ByteTokenizer::bytes_of(std::int32_t token) const {
  assert(token >= 0 && token < kVocabSize);
  return {&kByteTokens[static_cast<std::size_t>(token)], 1};
}

std::unique_ptr<TextEncoder> ByteTokenizer::create_encoder() const { return std::make_unique<ByteEncoder>(); }

}  // namespace tenax::io
