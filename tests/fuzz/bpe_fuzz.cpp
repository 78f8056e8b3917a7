// Byte pair encoding of any bytes; the first of them says where the text is cut.
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"

namespace tenax::fuzz {

std::vector<std::string> seeds() {
  return {"\x10the theatre's  aaaaaaaa\n\n  1234 then<|endoftext|>the",
          "\x05\xE4\xBD\xA0\xE5\xA5\xBD they'll", std::string("\x20\0\0\xFF\xFE the\t\r\n", 10),
          "\x40" + std::string(100, 'a') + std::string(50, ' ')};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const io::test::SmallVocabulary vocabulary;
  static const auto tokenizer = vocabulary.tokenizer();
  static const auto used_encoder = tokenizer->create_encoder();  // it knows the words of all inputs so far
  if (size == 0) return 0;
  const auto text = fuzz::text_of(data + 1, size - 1);
  const auto tokens = io::encode(*tokenizer, text);
  fuzz::require(io::decode(*tokenizer, tokens) == text, "a text that was encoded decodes to itself");

  std::vector<std::int32_t> by_words_known;
  used_encoder->encode(text, by_words_known);
  fuzz::require(by_words_known == tokens, "an encoder that has seen other texts gives the same tokens");

  const auto cut = tokenizer->last_cut(text.substr(0, text.size() * data[0] / 255));
  auto in_parts = io::encode(*tokenizer, text.substr(0, cut));
  const auto rest = io::encode(*tokenizer, text.substr(cut));
  in_parts.insert(in_parts.end(), rest.begin(), rest.end());
  fuzz::require(in_parts == tokens,
                "a text encoded in the parts that last_cut() allows gives the same tokens");
  return 0;
}
