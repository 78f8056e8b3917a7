#include "io/tokenizer/bpe_vocabulary.hpp"

#include "tests/io/tokenizer/bpe_fixture.hpp"

namespace tenax::io::test {
namespace {

std::filesystem::path real_vocabulary() { return TENAX_SOURCE_DIR "/../shared/data/gpt2"; }

TEST(BpeVocabulary, is_read_as_bytes) {
  const SmallVocabulary files;
  const BpeVocabulary vocabulary = read_bpe_vocabulary(files.folder().path());
  ASSERT_EQ(vocabulary.bytes_of_token.size(), 263U);
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(vocabulary.token_of_byte[static_cast<std::size_t>(byte)], byte);
  EXPECT_EQ(vocabulary.bytes_of_token[259], " the");
  EXPECT_EQ(vocabulary.bytes_of_token[261], "\xE4\xBD");
  EXPECT_EQ(vocabulary.merges.size(), 6U);
  EXPECT_EQ(vocabulary.end_of_text, 262);
}

TEST(BpeVocabulary, may_lack_a_separator) {
  const SmallVocabulary files;
  const std::string json = encoder_json(kPairs);
  files.folder().write("encoder.json", json.substr(0, json.rfind(", ")) + "}");
  EXPECT_EQ(read_bpe_vocabulary(files.folder().path()).end_of_text, std::nullopt);
}

struct Damage {
  std::string file, from, to, message;
};

class DamagedVocabulary : public testing::TestWithParam<Damage> {};

TEST_P(DamagedVocabulary, is_refused_by_file_and_entry) {
  const SmallVocabulary files;
  const Damage& damage = GetParam();
  const auto path =
      files.folder().write(damage.file, replaced(files.folder().read(damage.file), damage.from, damage.to));
  const auto [message, status] = error_of([&] { read_bpe_vocabulary(files.folder().path()); });
  EXPECT_EQ(message, "vocabulary file " + path.string() + ": " + damage.message);
  EXPECT_EQ(status, 1);
}

const std::string kWrongLine = " does not merge two tokens that are there by then into one";

INSTANTIATE_TEST_SUITE_P(
    , DamagedVocabulary,
    testing::Values(
        Damage{"encoder.json", "{", "[", "is not valid JSON (line 1, column 6)"},
        Damage{"encoder.json", "\"th\": 256", "\"th\": 9999", "the number of \"th\" is not one of 0 to 262"},
        Damage{"encoder.json", "\"th\": 256", "\"th\": -1", "the number of \"th\" is not one of 0 to 262"},
        Damage{"encoder.json", "\"th\": 256", "\"th\": 0", "two tokens have the number 0"},
        Damage{"encoder.json", "\"th\": 256", "\"t h\": 256",
               "\"t h\" is not spelled in GPT-2's alphabet of bytes"},
        Damage{"encoder.json", "\"a\": 97", "\"zz\": 97", "there is no token for byte 97"},
        Damage{"vocab.bpe", "t h", "th", "line 2" + kWrongLine},
        Damage{"vocab.bpe", "t h", "t x", "line 2" + kWrongLine},
        Damage{"vocab.bpe", "th e", "he t", "line 4" + kWrongLine},
        Damage{"vocab.bpe", "a a", "t h", "line 3" + kWrongLine},
        Damage{"vocab.bpe", "t h\n", "aa aa\n", "line 2" + kWrongLine}));

TEST(BpeVocabulary, that_is_missing_is_named) {
  const TemporaryFolder empty;
  const auto [message, status] = error_of([&] { read_bpe_vocabulary(empty.path()); });
  EXPECT_EQ(message, "vocabulary file " + (empty.path() / "encoder.json").string() +
                         ": cannot read it; the folder must hold GPT-2's encoder.json and vocab.bpe");
  EXPECT_EQ(status, 1);
}

TEST(Gpt2Vocabulary, gives_the_tokens_of_tiktoken) {
  if (!std::filesystem::exists(real_vocabulary())) GTEST_SKIP() << "GPT-2's vocabulary is not here";
  const auto bpe = Tokenizer::create("gpt2", real_vocabulary());
  EXPECT_EQ(bpe->vocab_size(), 50257);
  EXPECT_EQ(bpe->end_of_text(), 50256);
  EXPECT_EQ(encode(*bpe, "Hello world"), (Tokens{15496, 995}));
  EXPECT_EQ(
      encode(*bpe, "I'll say: they've got 3.14 apples,\n\n  don't you?"),
      (Tokens{40, 1183, 910, 25, 484, 1053, 1392, 513, 13, 1415, 22514, 11, 628, 220, 836, 470, 345, 30}));
  EXPECT_EQ(encode(*bpe, "  \t\n leading"), (Tokens{220, 220, 197, 198, 3756}));
  EXPECT_EQ(encode(*bpe, "naïve 中文 😀Ж́"),
            (Tokens{2616, 38776, 220, 40792, 23877, 229, 30325, 222, 140, 244, 136, 223}));
  EXPECT_EQ(encode(*bpe, "\u3000\u00A0x\u00BD"), (Tokens{5099, 222, 1849, 87, 23141}));
  EXPECT_EQ(encode(*bpe, "a<|endoftext|>b"), (Tokens{64, 50256, 65}));
  EXPECT_EQ(encode(*bpe, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
            (Tokens{24794, 24794, 24794, 24794, 24794, 24794, 24794, 24794, 24794, 24794, 24794, 24794, 24794,
                    24794, 24794, 24794, 24794, 24794}));
}

TEST(Gpt2Vocabulary, gives_tinyshakespeare_338025_tokens) {
  const std::filesystem::path file = TENAX_SOURCE_DIR "/../shared/data/tinyshakespeare.txt";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "tinyshakespeare is not here";
  const auto bpe = Tokenizer::create("gpt2", real_vocabulary());
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto tokens = encode(*bpe, text);
  EXPECT_EQ(tokens.size(), 338025U);
  EXPECT_EQ(decode(*bpe, tokens), text);
  const std::size_t train = text.size() * 9 / 10;  // nanoGPT's split
  EXPECT_EQ(encode(*bpe, text.substr(0, train)).size(), 301966U);
  EXPECT_EQ(encode(*bpe, text.substr(train)).size(), 36059U);
}

}  // namespace
}  // namespace tenax::io::test
