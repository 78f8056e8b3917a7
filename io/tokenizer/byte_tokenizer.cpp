#include "io/tokenizer/byte_tokenizer.hpp"

#include <array>
#include <cassert>

namespace tenax::io {
namespace {

constexpr std::array<char, ByteTokenizer::kVocabSize> all_bytes() {
  std::array<char, ByteTokenizer::kVocabSize> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

constexpr auto kBytes = all_bytes();

class ByteEncoder final : public TextEncoder {
 public:
  void encode(std::string_view text, std::vector<std::int32_t>& tokens) override {
    tokens.reserve(tokens.size() + text.size());
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  }
};

}  // namespace

std::string_view ByteTokenizer::bytes_of(std::int32_t token) const {
  assert(token >= 0 && token < kVocabSize);
  return {&kBytes[static_cast<std::size_t>(token)], 1};
}

std::unique_ptr<TextEncoder> ByteTokenizer::create_encoder() const { return std::make_unique<ByteEncoder>(); }

}  // namespace tenax::io
