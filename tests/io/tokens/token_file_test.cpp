#include "io/tokens/token_file.hpp"

#include <numeric>

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

constexpr TokenDemands kAnything{.seq_length = 1, .vocab_size = 65536, .scan = true};

std::string as_uint16(const std::vector<int>& tokens) {
  std::string bytes;
  for (const int token : tokens) {
    bytes += static_cast<char>(token & 0xFF);
    bytes += static_cast<char>(token >> 8);
  }
  return bytes;
}

std::vector<std::int32_t> read(const TokenFile& file, std::int64_t begin, std::size_t count) {
  std::vector<std::int32_t> tokens(count);
  file.read(begin, tokens);
  return tokens;
}

TEST(TokenFile, reads_text_as_its_bytes) {
  const TemporaryFolder folder;
  const auto file = TokenFile::open(folder.write("a.txt", std::string("A\0\xFFz", 4)), "bytes", kAnything);
  EXPECT_EQ(file->size(), 4);
  EXPECT_EQ(read(*file, 0, 4), (std::vector<std::int32_t>{65, 0, 255, 122}));
}

TEST(TokenFile, reads_bin_as_little_endian_uint16) {
  const TemporaryFolder folder;
  const auto file =
      TokenFile::open(folder.write("a.bin", as_uint16({1, 256, 50256, 65535})), "bytes", kAnything);
  EXPECT_EQ(file->size(), 4);
  EXPECT_EQ(read(*file, 0, 4), (std::vector<std::int32_t>{1, 256, 50256, 65535}));
}

TEST(TokenFile, reads_any_part) {
  const TemporaryFolder folder;
  std::vector<int> tokens(1000);
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto file = TokenFile::open(folder.write("a.bin", as_uint16(tokens)), "bytes", kAnything);
  EXPECT_EQ(read(*file, 997, 3), (std::vector<std::int32_t>{997, 998, 999}));
  EXPECT_EQ(read(*file, 1000, 0), std::vector<std::int32_t>{});
}

TEST(TokenFile, finds_the_first_token_that_is_too_large_wherever_it_is) {
  const TemporaryFolder folder;
  std::vector<int> tokens(40000, 255);
  for (const std::size_t position : {0UL, 1UL, 16383UL, 16384UL, 39999UL}) {
    tokens[position] = 256;
    const auto path = folder.write("a.bin", as_uint16(tokens));
    const auto file = TokenFile::open(path, "bytes", kAnything);
    EXPECT_EQ(file->find_at_least(256, 0, file->size()), static_cast<std::int64_t>(position));
    EXPECT_EQ(file->find_at_least(257, 0, file->size()), 40000);
    EXPECT_EQ(file->find_at_least(65536, 0, file->size()), 40000);
    tokens[position] = 255;
  }
}

struct BadFile {
  std::string name, content;
  TokenDemands demands;
  std::string message;  ///< after "token file PATH: "
  int status;
};

class BadTokenFile : public testing::TestWithParam<BadFile> {};

TEST_P(BadTokenFile, is_named_with_what_is_wrong) {
  const TemporaryFolder folder;
  const auto& bad = GetParam();
  const auto path = folder.write(bad.name, bad.content);
  const auto [message, status] = error_of([&] { TokenFile::open(path, "bytes", bad.demands); });
  EXPECT_EQ(message, "token file " + path.string() + ": " + bad.message);
  EXPECT_EQ(status, bad.status);
}

INSTANTIATE_TEST_SUITE_P(
    , BadTokenFile,
    testing::Values(BadFile{"a.txt", "", kAnything, "the file is empty", 1},
                    BadFile{"a.bin", "", kAnything, "the file is empty", 1},
                    BadFile{"a.bin", "12345", kAnything,
                            "truncated: its 5 bytes are not a whole number of 2-byte tokens", 1},
                    BadFile{"a.bin",
                            as_uint16({1, 2, 3, 4}),
                            {4, 256, true},
                            "too short: a sequence of model.seq_length = 4 needs 5 tokens, but it has 4",
                            1},
                    BadFile{"a.bin",
                            as_uint16({1, 2, 300, 4, 301}),
                            {4, 300, true},
                            "token 300 at position 2 is not below model.vocab_size = 300",
                            1},
                    BadFile{"a.txt",
                            "abc~",
                            {2, 100, true},
                            "token 126 at position 3 is not below model.vocab_size = 100",
                            1},
                    BadFile{"a.csv", "1,2", kAnything,
                            "its name must end in .txt (text), .bin (uint16, llm.c's, or Megatron's with its "
                            ".idx) or .h5 (of "
                            "tenax tokenize)",
                            2}));

TEST(TokenFile, that_is_missing_is_named_with_the_reason) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "absent.txt";
  const auto [message, status] = error_of([&] { TokenFile::open(path, "bytes", kAnything); });
  EXPECT_EQ(message, "token file " + path.string() + ": cannot open: No such file or directory");
  EXPECT_EQ(status, 1);
}

TEST(TokenFile, that_is_a_directory_is_refused) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "d.txt");
  const auto [message, status] =
      error_of([&] { TokenFile::open(folder.path() / "d.txt", "bytes", kAnything); });
  EXPECT_EQ(message, "token file " + (folder.path() / "d.txt").string() + ": cannot open: Is a directory");
  EXPECT_EQ(status, 1);
}

TEST(TokenFile, is_not_scanned_where_another_rank_does) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.bin", as_uint16({1, 300, 3}));
  EXPECT_NO_THROW(TokenFile::open(path, "bytes", {.seq_length = 2, .vocab_size = 256, .scan = false}));
}

TEST(TokenFile, that_is_cut_short_while_it_is_read_is_an_error) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.bin", as_uint16(std::vector<int>(100000, 7)));
  const auto file = TokenFile::open(path, "bytes", kAnything);
  std::filesystem::resize_file(path, 4096);
  EXPECT_EQ(read(*file, 0, 2048), std::vector<std::int32_t>(2048, 7));
  const auto [message, status] = error_of([&] { read(*file, 90000, 10); });
  EXPECT_TRUE(message.starts_with("token file " + path.string() + ": ")) << message;
  EXPECT_NE(message.find("truncated"), std::string::npos) << message;
  EXPECT_EQ(status, 1);
  file->close();
  EXPECT_NE(error_of([&] { read(*file, 0, 10); }).first.find("has changed it meanwhile"), std::string::npos);
}

TEST(TokenFile, finds_a_token_beyond_the_vocabulary_when_it_is_read_where_it_was_not_looked_for_before) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.bin", as_uint16({1, 2, 3, 300, 5}));
  const auto file = TokenFile::open(path, "bytes", {.seq_length = 2, .vocab_size = 256, .scan = false});
  EXPECT_EQ(read(*file, 0, 3).size(), 3U);
  EXPECT_EQ(error_of([&] { read(*file, 2, 3); }).first,
            "token file " + path.string() + ": token 300 at position 3 is not below model.vocab_size = 256");
}

TEST(TokenFile, finds_a_token_beyond_the_vocabulary_in_memory_too) {
  for (const std::int32_t large : {300, 70000}) {
    const auto file = TokenFile::keep({1, 2, 3, large, 5}, "a.txt", {2, 256, false});
    EXPECT_EQ(read(*file, 0, 3).size(), 3U);
    EXPECT_EQ(error_of([&] { read(*file, 2, 3); }).first,
              "token file a.txt: token " + std::to_string(large) +
                  " at position 3 is not below model.vocab_size = 256");
  }
}

TEST(TokenFile, refuses_a_tokenizer_it_does_not_know) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.txt", "text");
  EXPECT_EQ(error_of([&] { TokenFile::open(path, "gpt9", kAnything); }).second, 2);
}

TEST(TokenFile, needs_the_vocabulary_of_gpt2_for_a_text) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.txt", "text");
  EXPECT_EQ(error_of([&] { TokenFile::open(path, "gpt2", kAnything); }).second, 2);
}

}  // namespace
}  // namespace tenax::io::test
