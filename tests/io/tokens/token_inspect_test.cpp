#include "io/tokens/token_inspect.hpp"

#include <sys/stat.h>

#include "io/checkpoint/checkpoint_inspect.hpp"
#include "io/tokens/token_file.hpp"
#include "io/tokens/token_writer.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"

namespace tenax::io::test {
namespace {

using Tokens = std::vector<std::int32_t>;

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
