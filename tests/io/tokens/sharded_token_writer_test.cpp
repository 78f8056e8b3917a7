#include "io/tokens/sharded_token_writer.hpp"

#include "io/tokens/token_file.hpp"
#include "io/tokens/tokens.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"

namespace tenax::io::test {
namespace {

using Tokens = std::vector<std::int32_t>;

/// Documents of 4, 3, 5, 12 and 1 tokens, all different, in small parts.
void write_documents(TokenSink& sink) {
  std::int32_t token = 0;
  for (const int length : {4, 3, 5, 12, 1}) {
    sink.begin_document();
    for (int i = 0; i < length; ++i, ++token) sink.append({&token, 1});
  }
}

TEST(ShardedTokenWriter, cuts_only_documents_that_are_longer_than_a_file) {
  const TemporaryFolder folder;
  const auto bytes = Tokenizer::create("bytes", "");
  ShardedTokenWriter writer(folder.path() / "t.h5", *bytes, {"a.txt"}, 5);
  write_documents(writer);
  writer.publish();
  EXPECT_EQ(writer.tokens(), 25);
  EXPECT_EQ(writer.documents(), 5);
  const std::vector<std::int64_t> sizes = {4, 3, 5, 5, 5, 3};
  std::int32_t next = 0;
  for (std::size_t shard = 0; shard < sizes.size(); ++shard) {
    const auto path = folder.path() / ("t-0000" + std::to_string(shard) + ".h5");
    EXPECT_NO_THROW(verify_token_file(path));
    const auto file = TokenFile::open(path, "bytes", {.seq_length = 0, .vocab_size = 256, .scan = true});
    ASSERT_EQ(file->size(), sizes[shard]) << shard;
    Tokens tokens(static_cast<std::size_t>(file->size()));
    file->read(0, tokens);
    for (const std::int32_t token : tokens) ASSERT_EQ(token, next++);
  }
  EXPECT_EQ(read_token_documents(folder.path() / "t-00005.h5"), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 6);
}

TEST(ShardedTokenWriter, leaves_nothing_where_it_did_not_come_to_its_end) {
  const TemporaryFolder folder;
  const auto bytes = Tokenizer::create("bytes", "");
  for (const char* name : {"t.h5", "t.bin"}) {
    ShardedTokenWriter writer(folder.path() / name, *bytes, {}, 5);
    write_documents(writer);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ShardedTokenWriter, does_not_mix_with_an_older_set) {
  const TemporaryFolder folder;
  folder.write("t-00000.h5", "older");
  const auto bytes = Tokenizer::create("bytes", "");
  const auto [message, status] = error_of([&] { ShardedTokenWriter(folder.path() / "t.h5", *bytes, {}, 5); });
  EXPECT_NE(message.find("remove the old set"), std::string::npos) << message;
  EXPECT_EQ(status, 1);
  EXPECT_EQ(error_of([&] { ShardedTokenWriter(folder.path() / "u.txt", *bytes, {}, 5); }).second, 2);
}

}  // namespace
}  // namespace tenax::io::test
