#include "io/tokens/tokenize.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "io/shard_names.hpp"
#include "io/tokens/sharded_token_writer.hpp"
#include "io/tokens/text_chunks.hpp"
#include "io/tokens/token_file.hpp"
#include "io/tokens/token_hdf5.hpp"
#include "io/tokens/token_writer.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"
#include "tests/io/tokens/token_fixture.hpp"
#include "tests/resilience/checkpoint/small_disk.hpp"

namespace tenax::io::test {
namespace {

using Documents = std::vector<std::int64_t>;
using V = SmallVocabulary;

struct Result {
  Tokens tokens;
  Documents documents;
};

/// Writes each text to a file of its own and tokenizes these.
Result tokenized(const Tokenizer& tokenizer, const std::vector<std::string>& texts, int threads = 2) {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> files;
  for (const std::string& text : texts) files.push_back(folder.write(std::to_string(files.size()), text));
  const auto path = folder.path() / "out.h5";
  const auto writer = TokenWriter::create(path, tokenizer, {});
  tokenize_files(files, tokenizer, *writer, threads, [](std::int64_t) {});
  writer->publish();
  return {all_of(path), read_token_documents(path)};
}

TEST(Tokenize, puts_the_separator_between_files_and_nowhere_else) {
  const V vocabulary;
  const auto bpe = vocabulary.tokenizer();
  EXPECT_EQ(tokenized(*bpe, {"the"}).tokens, (Tokens{V::kThe}));
  const Result two = tokenized(*bpe, {"the", "th"});
  EXPECT_EQ(two.tokens, (Tokens{V::kThe, V::kEnd, V::kTh}));
  EXPECT_EQ(two.documents, (Documents{0, 2}));
}

TEST(Tokenize, puts_no_second_separator_behind_a_text_that_ends_with_one) {
  const V vocabulary;
  const Result two = tokenized(*vocabulary.tokenizer(), {"a<|endoftext|>", "b"});
  EXPECT_EQ(two.tokens, (Tokens{'a', V::kEnd, 'b'}));
  EXPECT_EQ(two.documents, (Documents{0, 2}));
}

TEST(Tokenize, begins_a_document_behind_each_separator_in_a_text) {
  const V vocabulary;
  const Result result =
      tokenized(*vocabulary.tokenizer(), {"a<|endoftext|>b<|endoftext|><|endoftext|>c<|endoftext|>"});
  EXPECT_EQ(result.tokens, (Tokens{'a', V::kEnd, 'b', V::kEnd, V::kEnd, 'c', V::kEnd}));
  EXPECT_EQ(result.documents, (Documents{0, 2, 4, 5}));
}

TEST(Tokenize, passes_over_empty_files) {
  const V vocabulary;
  const Result result = tokenized(*vocabulary.tokenizer(), {"", "a", "", "", "b", ""});
  EXPECT_EQ(result.tokens, (Tokens{'a', V::kEnd, 'b'}));
  EXPECT_EQ(result.documents, (Documents{0, 2}));
}

TEST(Tokenize, joins_bytes_of_several_files_without_a_separator) {
  const Result result = tokenized(*Tokenizer::create("bytes", ""), {"ab", "c"});
  EXPECT_EQ(result.tokens, (Tokens{'a', 'b', 'c'}));
  EXPECT_EQ(result.documents, (Documents{0, 2}));
}

TEST(Tokenize, refuses_texts_in_which_there_is_nothing) {
  const V vocabulary;
  EXPECT_EQ(error_of([&] { tokenized(*vocabulary.tokenizer(), {"", ""}); }).second, 1);
}

/// Several chunks of words, some of many bytes, some not UTF-8, and separators.
std::string large_text() {
  std::mt19937 random(4);
  std::string text;
  while (text.size() < 3 * TextChunks::kChunkBytes) {
    const std::string pieces[] = {" the",
                                  "aa",
                                  "\n\n",
                                  " ",
                                  "\xE4\xBD\xA0",
                                  "\xE4",
                                  "<|endoftext|>",
                                  "12",
                                  "'s",
                                  std::string(300, 'a')};
    text += pieces[random() % std::size(pieces)];
  }
  return text;
}

TEST(Tokenize, gives_the_tokens_of_the_whole_text_whatever_the_chunks_and_threads) {
  const V vocabulary;
  const auto bpe = vocabulary.tokenizer();
  const std::string text = large_text();
  const Tokens expected = encode(*bpe, text);
  for (const int threads : {1, 2, 5})
    EXPECT_TRUE(tokenized(*bpe, {text}, threads).tokens == expected) << threads;
}

TEST(Tokenize, holds_words_that_are_longer_than_a_chunk) {
  const V vocabulary;
  const auto bpe = vocabulary.tokenizer();
  const std::string text = "the " + std::string(5 * TextChunks::kChunkBytes / 2, 'a') + " the";
  EXPECT_TRUE(tokenized(*bpe, {text}).tokens == encode(*bpe, text));
}

TEST(Tokenize, tells_its_progress_in_bytes_and_may_be_ended_by_it) {
  const TemporaryFolder folder;
  const auto bytes = Tokenizer::create("bytes", "");
  const std::vector<std::filesystem::path> files = {
      folder.write("a", std::string(3 * TextChunks::kChunkBytes + 5, 'a'))};
  std::vector<std::int64_t> told;
  const auto writer = TokenWriter::create(folder.path() / "a.bin", *bytes, {});
  EXPECT_EQ(tokenize_files(files, *bytes, *writer, 2, [&](std::int64_t done) { told.push_back(done); }),
            3 * 1048576 + 5);
  EXPECT_EQ(told, (std::vector<std::int64_t>{1048576, 2097152, 3145728, 3145733}));
  struct Stop {};
  EXPECT_THROW(tokenize_files(files, *bytes, *writer, 2, [](std::int64_t) { throw Stop{}; }), Stop);
}

TEST(TokenWriter, replaces_the_file_behind_a_link_and_no_pipe) {
  const auto tokenizer = Tokenizer::create("bytes", "");
  const std::vector<std::int32_t> tokens = {1, 2, 3};
  for (const std::string ending : {".h5", ".bin"}) {
    const TemporaryFolder folder;
    const auto link = folder.path() / ("link" + ending), pipe = folder.path() / ("pipe" + ending);
    std::filesystem::create_symlink("tokens" + ending, link);
    const auto writer = TokenWriter::create(link, *tokenizer, {});
    writer->append(tokens);
    writer->publish();
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(all_of(folder.path() / ("tokens" + ending)), (Tokens{1, 2, 3}));
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(error_of([&] { TokenWriter::create(pipe, *tokenizer, {}); }).first,
              "cannot write " + pipe.string() + ": it is a pipe, a socket or a device, not a file");
  }
}

TEST(Tokenize, names_a_file_that_is_not_there) {
  const auto bytes = Tokenizer::create("bytes", "");
  EXPECT_EQ(error_of([&] { TextChunks("/nowhere/text.txt", *bytes); }).first,
            "cannot read /nowhere/text.txt: No such file or directory");
}

TEST(Detokenize, gives_back_every_byte) {
  const TemporaryFolder folder;
  const V vocabulary;
  const auto bpe = vocabulary.tokenizer();
  const std::string text = large_text();
  const auto file = folder.write("text", text);
  for (const char* name : {"a.h5", "a.bin"}) {
    const auto writer = TokenWriter::create(folder.path() / name, *bpe, {});
    tokenize_files({file}, *bpe, *writer, 2, [](std::int64_t) {});
    writer->publish();
    const auto texts = token_texts(folder.path() / name, "gpt2", vocabulary.folder().path());
    EXPECT_EQ(detokenize(folder.path() / name, texts, folder.path() / "back"),
              static_cast<std::int64_t>(text.size()));
    EXPECT_TRUE(folder.read("back") == text) << name;
  }
}

TEST(Detokenize, refuses_tokens_of_another_tokenizer) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.bin", std::string("\x10\x00\x00\x01", 4));
  const auto [message, status] =
      error_of([&] { detokenize(file, token_texts(file, "bytes", ""), folder.path() / "back"); });
  EXPECT_EQ(message,
            "token file " + file.string() +
                ": token 256 at position 1 is not one of the 256 of its tokenizer; is it another's file?");
}

TEST(TokenFile, tokenizes_a_text_by_gpt2_as_it_is_opened) {
  const TemporaryFolder folder;
  const V vocabulary;
  const auto file =
      TokenFile::open(folder.write("a.txt", "the a<|endoftext|>"), "gpt2",
                      {.seq_length = 2, .vocab_size = 263, .scan = true}, vocabulary.folder().path());
  Tokens tokens(static_cast<std::size_t>(file->size()));
  file->read(0, tokens);
  EXPECT_EQ(tokens, (Tokens{V::kThe, ' ', 'a', V::kEnd}));
}

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

// Of more tokens than are held in memory: one that has room, one that has none, and one of several files.
TEST(ShardedTokenWriter, places_long_documents_as_it_does_short_ones) {
  const TemporaryFolder folder;
  const auto bytes = Tokenizer::create("bytes", "");
  const auto target = folder.path() / "t.bin";
  ShardedTokenWriter writer(target, *bytes, {}, 3'000'000);
  for (const std::size_t length : {10U, 2'500'000U, 1'200'000U, 7'000'000U, 5U}) {
    writer.begin_document();
    const Tokens document = periodic(length, 251);
    for (std::span rest(document); !rest.empty();
         rest = rest.subspan(std::min<std::size_t>(rest.size(), 70'001)))
      writer.append(rest.first(std::min<std::size_t>(rest.size(), 70'001)));
    EXPECT_FALSE(std::filesystem::exists(temporary_name(target)));
  }
  writer.publish();
  Tokens expected = periodic(10, 251), all;
  for (const std::size_t length : {2'500'000U, 1'200'000U, 7'000'000U, 5U})
    for (const std::int32_t token : periodic(length, 251)) expected.push_back(token);
  std::vector<std::size_t> sizes;
  for (std::size_t shard = 0; shard < 5; ++shard) {
    const Tokens tokens = all_of(shard_name(target, shard));
    sizes.push_back(tokens.size());
    all.insert(all.end(), tokens.begin(), tokens.end());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2'500'010, 1'200'000, 3'000'000, 3'000'000, 1'000'005}));
  EXPECT_TRUE(all == expected);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 5);
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

// The finished ones, and what the current one has; of another set nothing.
TEST(ShardedTokenWriter, names_the_file_that_it_cannot_write_as_it_would_be_called) {
  const TemporaryFolder folder;
  const auto bytes = Tokenizer::create("bytes", "");
  const resilience::SmallDisk disk(folder.path() / "small", 300'000);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  for (const char* name : {"t.h5", "t.bin"}) {
    ShardedTokenWriter writer(folder.path() / "small" / name, *bytes, {}, 1'000'000);
    const auto [message, status] = error_of([&] {
      writer.append(periodic(400'000, 251));
      writer.publish();
    });
    const auto first = shard_name(folder.path() / "small" / name, 0);
    EXPECT_NE(message.find("cannot write " + first.string() + ": No space left on device (make room"),
              std::string::npos)
        << message;
  }
}

TEST(ShardedTokenWriter, removes_what_a_killed_one_left_of_the_same_set) {
  const TemporaryFolder folder;
  const auto bytes = Tokenizer::create("bytes", "");
  const pid_t child = fork();
  if (child == 0) {
    for (const char* name : {"t.h5", "other.h5"}) {
      auto* const writer = new ShardedTokenWriter(folder.path() / name, *bytes, {}, 5);
      write_documents(*writer);
    }
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  const auto left = [&](const std::string& set) {
    return std::count_if(std::filesystem::directory_iterator(folder.path()), {}, [&](const auto& entry) {
      return set_of_shard(target_of_temporary(entry.path().filename().string())) == set;
    });
  };
  EXPECT_EQ(left("t.h5"), 6);
  { ShardedTokenWriter(folder.path() / "t.h5", *bytes, {}, 5); }
  EXPECT_EQ(left("t.h5"), 0);
  EXPECT_EQ(left("other.h5"), 6);
}

// The name of the first one is taken meanwhile, so the others have got theirs before.
TEST(ShardedTokenWriter, puts_the_first_one_in_its_place_last) {
  const TemporaryFolder folder;
  const auto bytes = Tokenizer::create("bytes", "");
  ShardedTokenWriter writer(folder.path() / "t.h5", *bytes, {}, 5);
  write_documents(writer);
  std::filesystem::create_directory(folder.path() / "t-00000.h5");
  EXPECT_EQ(error_of([&] { writer.publish(); }).second, 1);
  for (int shard = 1; shard < 6; ++shard)
    EXPECT_NO_THROW(verify_token_file(shard_name(folder.path() / "t.h5", static_cast<std::size_t>(shard))));
}

TEST(ShardedTokenWriter, does_not_mix_with_an_older_set) {
  const TemporaryFolder folder;
  folder.write("t-00003.h5", "older");
  const auto bytes = Tokenizer::create("bytes", "");
  const auto [message, status] = error_of([&] { ShardedTokenWriter(folder.path() / "t.h5", *bytes, {}, 5); });
  EXPECT_NE(message.find("t-00003.h5 exists: remove the old set"), std::string::npos) << message;
  EXPECT_EQ(status, 1);
  EXPECT_EQ(error_of([&] { ShardedTokenWriter(folder.path() / "u.txt", *bytes, {}, 5); }).second, 2);
}

}  // namespace
}  // namespace tenax::io::test
