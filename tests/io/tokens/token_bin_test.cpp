#include "io/tokens/token_bin.hpp"

#include <sys/stat.h>

#include <array>
#include <cstring>

#include "io/checkpoint/checkpoint_inspect.hpp"
#include "io/tokens/token_file.hpp"
#include "io/tokens/token_hdf5.hpp"
#include "io/tokens/token_inspect.hpp"
#include "io/tokens/token_writer.hpp"
#include "tests/io/deck/deck_fixture.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"
#include "tests/io/tokens/token_fixture.hpp"

namespace tenax::io::test {
namespace {

template <class Value>
std::string bytes_of(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

template <class Stored>
std::string stored(const Tokens& tokens) {
  return bytes_of(std::vector<Stored>(tokens.begin(), tokens.end()));
}

std::string llmc_header(std::int32_t magic, std::int32_t version, std::int32_t tokens) {
  std::vector<std::int32_t> words(256);
  words[0] = magic;
  words[1] = version;
  words[2] = tokens;
  return bytes_of(words);
}

/// What can be wrong with an index; by default nothing.
struct Index {
  std::uint64_t version = 1;
  std::uint8_t type = 4;
  std::vector<std::int32_t> sizes = {3, 0, 2};
  std::vector<std::int64_t> pointers = {0, 12, 12}, documents = {0, 1, 3};

  std::string text() const {
    return std::string("MMIDIDX\0\0", 9) + bytes_of<std::uint64_t>({version}) +
           bytes_of<std::uint8_t>({type}) + bytes_of<std::uint64_t>({sizes.size(), documents.size()}) +
           bytes_of(sizes) + bytes_of(pointers) + bytes_of(documents);
  }
};

const Tokens kFive = {7, 70000, 0, 50256, 9};

TEST(TokenBin, with_the_header_of_llm_c_is_read_behind_it_in_its_width) {
  const TemporaryFolder folder;
  const Tokens narrow = {7, 50256, 0, 9};
  EXPECT_EQ(all_of(folder.write("a.bin", llmc_header(20240520, 1, 4) + stored<std::uint16_t>(narrow))),
            narrow);
  EXPECT_EQ(all_of(folder.write("b.bin", llmc_header(20240801, 7, 5) + stored<std::uint32_t>(kFive))), kFive);
  EXPECT_NE(inspect(folder.path() / "b.bin").find("llm.c's, uint32, version 7"), std::string::npos);
}

TEST(TokenBin, whose_header_promises_other_tokens_than_there_are_is_named) {
  const TemporaryFolder folder;
  for (const std::int32_t promised : {3, 5, 0, -4, INT32_MAX}) {
    const auto path =
        folder.write("a.bin", llmc_header(20240520, 1, promised) + stored<std::uint16_t>({1, 2, 3, 4}));
    const auto [message, status] = error_of([&] { read_token_bin(path); });
    EXPECT_TRUE(message.starts_with("token file " + path.string() + ": its llm.c header")) << message;
    EXPECT_EQ(status, 1);
  }
}

TEST(TokenBin, with_an_index_beside_it_has_the_type_and_the_documents_that_it_says) {
  const TemporaryFolder folder;
  const auto bin = folder.write("a.bin", stored<std::int32_t>(kFive));
  folder.write("a.idx", Index().text());
  EXPECT_EQ(all_of(bin), kFive);
  EXPECT_EQ(read_token_bin(bin).documents, 2);
  for (const char* name : {"a.bin", "a.idx"}) {
    const std::string text = inspect(folder.path() / name);
    for (const char* part : {"Megatron's, int32", "tokens              5", "documents           2"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  const auto narrow = folder.write("b.bin", stored<std::uint16_t>({1, 0, 2, 0, 3}));
  Index index{.type = 8};
  index.pointers = {0, 6, 6};
  folder.write("b.idx", index.text() + std::string(3, '\1'));  // with modes
  EXPECT_EQ(all_of(narrow), (Tokens{1, 0, 2, 0, 3}));
}

TEST(TokenBin, with_a_negative_token_is_refused) {
  const TemporaryFolder folder;
  const auto bin = folder.write("a.bin", stored<std::int32_t>({7, -1, 2, 3, 4}));
  folder.write("a.idx", Index().text());
  EXPECT_EQ(
      error_of([&] { all_of(bin); }).first,
      "token file " + bin.string() + ": token -1 at position 1 is not below model.vocab_size = 1048576");
}

TEST(TokenBin, of_int32_alone_is_never_taken_for_uint16) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.bin", stored<std::int32_t>({1, 2, 3, 50256, 0, 6}));
  const auto [message, status] = error_of([&] { read_token_bin(path); });
  EXPECT_TRUE(message.starts_with("token file " + path.string() + ": every second of its uint16 is 0"))
      << message;
  EXPECT_NE(message.find(".idx beside it"), std::string::npos);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(all_of(folder.write("b.bin", stored<std::uint16_t>({1, 0, 2, 0, 3, 0, 4, 1}))).size(), 8U);
  EXPECT_EQ(all_of(folder.write("c.bin", stored<std::uint16_t>({5, 0}))).size(), 2U);
}

TEST(TokenBin, of_32_bits_alone_is_never_taken_for_uint16_where_its_vocabulary_is_large) {
  const TemporaryFolder folder;
  Tokens tokens = periodic(4096, 60000);
  tokens[7] = 128255;
  const auto path = folder.write("a.bin", stored<std::uint32_t>(tokens));
  constexpr std::int64_t kVocabSize = 128256;
  const std::string message = error_of([&] { read_token_bin(path, kVocabSize); }).first;
  EXPECT_TRUE(message.starts_with("token file " + path.string() + ": every second of its uint16 is small"))
      << message;
  EXPECT_EQ(read_token_bin(path, 65536).pieces.tokens, 8192) << "a vocabulary of 16 bits";
  EXPECT_EQ(all_of(folder.write("b.bin", llmc_header(20240801, 7, 4096) + stored<std::uint32_t>(tokens))),
            tokens);
}

TEST(TokenBin, of_uint16_is_read_whatever_each_second_token_is) {
  const TemporaryFolder folder;
  const auto is_read = [&](std::size_t count, std::int32_t even, std::int32_t odd) {
    Tokens tokens(count, even);
    for (std::size_t i = 1; i < count; i += 2) tokens[i] = odd;
    const auto file = folder.write("a.bin", stored<std::uint16_t>(tokens));
    EXPECT_EQ(read_token_bin(file, 128256).pieces.tokens, count) << even << ", " << odd;
    EXPECT_EQ(all_of(file), tokens) << even << ", " << odd;
  };
  is_read(8192, 5, 1);     // a small vocabulary
  is_read(8192, 0xB0, 4);  // a text in UTF-16, as bytes
  is_read(8192, 50256, 64);
  is_read(1024, 50256, 1);  // too few to tell
}

TEST(MegatronIndex, that_is_none_or_is_another_files_is_named_with_the_reason) {
  const TemporaryFolder folder;
  const auto bin = folder.write("a.bin", stored<std::int32_t>(kFive));
  const auto refusal = [&](const std::string& index) {
    folder.write("a.idx", index);
    const auto [message, status] = error_of([&] { read_token_bin(bin); });
    EXPECT_TRUE(message.starts_with("token index " + (folder.path() / "a.idx").string() + ": ")) << message;
    EXPECT_EQ(status, 1);
    return message;
  };
  const auto with = [](auto change) {
    Index index;
    change(index);
    return index.text();
  };
  EXPECT_NE(refusal("").find("too short"), std::string::npos);
  EXPECT_NE(refusal(std::string(100, 'x')).find("not Megatron's index"), std::string::npos);
  EXPECT_NE(refusal(with([](Index& i) { i.version = 2; })).find("version is 2"), std::string::npos);
  EXPECT_NE(refusal(with([](Index& i) { i.type = 5; })).find("int64"), std::string::npos);
  EXPECT_NE(refusal(with([](Index& i) { i.type = 77; })).find("code 77"), std::string::npos);
  EXPECT_NE(refusal(Index().text().substr(0, 60)).find("cut short"), std::string::npos);
  EXPECT_NE(refusal(with([](Index& i) { i.type = 8; })).find("do not fill"), std::string::npos);
  EXPECT_NE(refusal(with([](Index& i) { i.sizes = {3, 0, 1}; })).find("do not fill"), std::string::npos);
  EXPECT_NE(refusal(with([](Index& i) { i.pointers[2] = INT64_MAX; })).find("do not fill"),
            std::string::npos);
  EXPECT_NE(refusal(with([](Index& i) { i.pointers[2] = -8; })).find("do not fill"), std::string::npos);
  EXPECT_NE(refusal(with([](Index& i) { i.documents = {0, 2}; })).find("documents"), std::string::npos);
  std::string huge = Index().text();
  std::memset(huge.data() + 18, 0xFF, 16);
  EXPECT_NE(refusal(huge).find("impossible number"), std::string::npos);
}

TEST(MegatronIndex, is_looked_at_whole_by_inspect) {
  const TemporaryFolder folder;
  const auto bin = folder.write("a.bin", stored<std::int32_t>(kFive));
  Index index;
  index.pointers[1] = 8;
  folder.write("a.idx", index.text());
  EXPECT_NE(error_of([&] { inspect(bin); }).first.find("sequence 1 does not begin"), std::string::npos);
  index = {};
  index.documents = {0, 3, 1, 3};
  folder.write("a.idx", index.text());
  EXPECT_NE(error_of([&] { inspect(bin); }).first.find("not in order"), std::string::npos);
}

std::filesystem::path write_tokens(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                   const std::vector<std::string>& sources) {
  const auto writer = TokenWriter::create(path, tokenizer, sources);
  writer->append(Tokens(1500, 7));
  writer->begin_document();
  writer->append(Tokens{255});
  writer->publish();
  return path;
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(InspectedTokens, are_listed_with_tokenizer_documents_and_texts) {
  const TemporaryFolder folder;
  const auto path =
      write_tokens(folder.path() / "a.h5", *SmallVocabulary().tokenizer(), {"one.txt", "two.txt"});
  expect_parts(inspect(path),
               {"complete and undamaged", "tokenizer           gpt2", "vocab_size          263",
                "tokens              1,501", "documents           2", "texts               one.txt",
                "\n                      two.txt\n", "verified"});
}

TEST(InspectedTokens, of_many_texts_are_listed_with_the_first_names) {
  const TemporaryFolder folder;
  std::vector<std::string> names;
  for (int i = 0; i < 1012; ++i) names.push_back("text-" + std::to_string(i));
  const std::string text =
      inspect(write_tokens(folder.path() / "a.h5", *Tokenizer::create("bytes", ""), names));
  expect_parts(text, {"text-9\n", "and 1,002 more"});
  EXPECT_EQ(text.find("text-10\n"), std::string::npos);
}

TEST(InspectedTokens, that_were_changed_are_called_damaged) {
  const TemporaryFolder folder;
  const auto path = write_tokens(folder.path() / "a.h5", *Tokenizer::create("bytes", ""), {});
  std::string bytes = folder.read("a.h5");
  bytes[static_cast<std::size_t>(locate_tokens(path).offsets.front() + 5)] ^= 1;
  folder.write("a.h5", bytes);
  expect_parts(error_of([&] { inspect(path); }).first, {path.string(), "damaged"});
}

TEST(InspectedTokens, of_a_bin_are_counted_and_the_largest_is_named) {
  const TemporaryFolder folder;
  const auto path = write_tokens(folder.path() / "a.bin", *Tokenizer::create("bytes", ""), {});
  expect_parts(inspect(path), {"uint16", "tokens              1,501", "largest token       255"});
}

TEST(Inspected, are_files_and_no_pipes_which_might_never_end) {
  const TemporaryFolder folder;
  for (const char* name : {"a.h5", "a.bin", "a"}) {
    ASSERT_EQ(mkfifo((folder.path() / name).c_str(), 0600), 0);
    expect_parts(error_of([&] { inspect(folder.path() / name); }).first, {name, "it is a pipe"});
  }
}

TEST(InspectedTokens, are_told_from_what_is_no_token_file) {
  const TemporaryFolder folder;
  EXPECT_FALSE(may_be_token_file(folder.write("a.h5", "tenax checkpoint 1\n")));
  EXPECT_FALSE(may_be_token_file(folder.write("b.h5", "")));
  EXPECT_FALSE(may_be_token_file(folder.path() / "absent.h5"));
  expect_parts(error_of([&] { inspect(folder.write("c.h5", "a text")); }).first, {"c.h5", "checkpoint"});
}

}  // namespace
}  // namespace tenax::io::test
