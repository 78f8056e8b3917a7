#include "io/tokens/token_hdf5.hpp"

#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "io/hdf5.hpp"
#include "io/tokens/token_chunks.hpp"
#include "io/tokens/token_file.hpp"
#include "io/tokens/token_writer.hpp"
#include "io/tokens/tokenize.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"
#include "tests/io/tokens/token_fixture.hpp"
#include "tests/resilience/checkpoint/small_disk.hpp"

namespace tenax::io::test {
namespace {

class TokenFileOf : public testing::TestWithParam<const char*> {};

// Lengths around the 131072 tokens of a piece.
TEST_P(TokenFileOf, any_length_is_read_as_it_was_written) {
  const TemporaryFolder folder;
  const auto bytes = Tokenizer::create("bytes", "");
  for (const std::size_t count : {1U, 2U, 131071U, 131072U, 131073U, 300001U}) {
    const auto path = folder.path() / GetParam();
    const auto writer = TokenWriter::create(path, *bytes, {"a.txt"});
    const Tokens tokens = periodic(count, 251);
    const auto first = std::span(tokens).first(count / 3);
    writer->append(first);
    writer->append(std::span(tokens).subspan(first.size()));
    writer->publish();
    EXPECT_EQ(writer->tokens(), static_cast<std::int64_t>(count));
    ASSERT_EQ(all_of(path), tokens) << count;
  }
}

INSTANTIATE_TEST_SUITE_P(, TokenFileOf, testing::Values("tokens.h5", "tokens.bin"));

TEST(TokenHdf5File, is_read_across_its_pieces) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.h5";
  const auto writer = TokenWriter::create(path, *Tokenizer::create("bytes", ""), {});
  writer->append(periodic(300000, 251));
  writer->publish();
  const auto file = TokenFile::open(path, "bytes", {.seq_length = 1, .vocab_size = 256, .scan = true});
  Tokens middle(140000);
  file->read(131000, middle);
  for (std::size_t i = 0; i < middle.size(); ++i)
    ASSERT_EQ(middle[i], static_cast<std::int32_t>((131000 + i) % 251));
  EXPECT_EQ(file->find_at_least(250, 131072, 300000), 131072 + 250 - 131072 % 251);
  EXPECT_EQ(file->find_at_least(251, 0, 300000), 300000);
}

TEST(TokenHdf5File, says_what_it_is) {
  const TemporaryFolder folder;
  const SmallVocabulary vocabulary;
  const auto path = folder.path() / "a.h5";
  const auto writer = TokenWriter::create(path, *vocabulary.tokenizer(), {"one.txt", "two.txt"});
  writer->append(Tokens{1, 2, 262});
  writer->begin_document();
  writer->begin_document();
  writer->append(Tokens{});
  writer->append(Tokens{3});
  writer->append(Tokens{4});
  writer->begin_document();
  writer->publish();
  const TokenFileInfo info = read_token_file_info(path);
  EXPECT_EQ(info.tokenizer, "gpt2");
  EXPECT_EQ(info.vocab_size, 263);
  EXPECT_EQ(info.tokens, 5);
  EXPECT_EQ(info.documents, 2);
  EXPECT_EQ(info.sources, "one.txt\ntwo.txt");
  EXPECT_EQ(read_token_documents(path), (std::vector<std::int64_t>{0, 3}));
  const auto texts = read_token_vocabulary(path);
  ASSERT_EQ(texts.size(), 263U);
  EXPECT_EQ(texts[259], " the");
  EXPECT_EQ(vocabulary_checksum(texts), vocabulary_checksum(*vocabulary.tokenizer()));
  EXPECT_EQ(vocabulary_checksum(*Tokenizer::create("bytes", "")), "");
  EXPECT_NO_THROW(verify_token_file(path));
}

// Text of variable length lies in a global heap, in which HDF5 loops for ever where it is damaged.
TEST(TokenHdf5File, has_no_global_heap_however_long_the_list_of_its_texts) {
  const TemporaryFolder folder;
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) names.push_back("text-" + std::to_string(i));
  const auto writer = TokenWriter::create(folder.path() / "a.h5", *Tokenizer::create("bytes", ""), names);
  writer->append(periodic(1000, 251));
  writer->publish();
  EXPECT_TRUE(read_token_file_info(folder.path() / "a.h5").sources.ends_with("\ntext-19999"));
  EXPECT_EQ(folder.read("a.h5").find("GCOL"), std::string::npos);
}

TEST(TokenHdf5File, that_was_changed_is_noticed) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.h5";
  const auto writer = TokenWriter::create(path, *Tokenizer::create("bytes", ""), {});
  writer->append(periodic(1000, 251));
  writer->publish();
  const TokenPieces pieces = locate_tokens(path);
  std::string bytes = folder.read("a.h5");
  bytes[static_cast<std::size_t>(pieces.offsets.front() + 500)] ^= 1;
  folder.write("a.h5", bytes);
  const auto [message, status] = error_of([&] { verify_token_file(path); });
  EXPECT_EQ(message, "token file " + path.string() +
                         ": damaged: its tokens do not have the checksum they were written with");
  EXPECT_EQ(
      error_of([&] { detokenize(path, token_texts(path, "bytes", ""), folder.path() / "text"); }).second, 1);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "text"));
}

// However large its set is: nothing was looked at when it was opened.
TEST(TokenHdf5File, that_was_changed_is_noticed_where_it_is_read_and_nowhere_else) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.h5";
  const auto writer = TokenWriter::create(path, *Tokenizer::create("bytes", ""), {});
  const Tokens tokens = periodic(300'000, 251);
  writer->append(tokens);
  writer->publish();
  std::string bytes = folder.read("a.h5");
  constexpr std::int64_t kChanged = 200'000;
  bytes[static_cast<std::size_t>(locate_tokens(path).offsets[1]) + 2 * (kChanged - 131072)] ^= 1;
  folder.write("a.h5", bytes);
  const auto file = TokenFile::open(path, "bytes", {.seq_length = 1, .vocab_size = 256, .scan = false});
  const auto read = [&](std::int64_t begin, std::int64_t end) {
    Tokens some(static_cast<std::size_t>(end - begin));
    file->read(begin, some);
    return some == Tokens(tokens.begin() + begin, tokens.begin() + end);
  };
  constexpr std::int64_t kBlock = kChanged / kCheckedTokens * kCheckedTokens;
  EXPECT_TRUE(read(0, kBlock));
  EXPECT_TRUE(read(kBlock + kCheckedTokens, 300'000));
  for (const std::int64_t begin : {kBlock - 1, kBlock, kChanged, kBlock + kCheckedTokens - 1})
    EXPECT_EQ(
        error_of([&] { read(begin, begin + 2); }).first,
        "token file " + path.string() + ": damaged: its tokens from " + std::to_string(kBlock) +
            " on do not have the checksum they were written with; tokenize again, or bring a sound copy");
}

/// A file of five chunks, with documents between.
std::filesystem::path write_chunks(const TemporaryFolder& folder) {
  const auto path = folder.path() / "a.h5";
  const auto writer = TokenWriter::create(path, *Tokenizer::create("bytes", ""), {});
  for (int i = 0; i < 150'000; ++i) {
    writer->append(Tokens{i % 251, i % 241, i % 239, i % 7});
    writer->begin_document();
  }
  writer->publish();
  return path;
}

/// Calls `change(file)` with the HDF5 file.
template <class Change>
void change_hdf5(const std::filesystem::path& path, const Change& change) {
  const Hdf5Session session;
  const Hdf5Id file(TENAX_HDF5(H5Fopen(path.c_str(), H5F_ACC_RDWR, create_file_access())), H5Fclose);
  change(file);
}

void delete_chunk_list(const std::filesystem::path& path) {
  change_hdf5(path, [](hid_t file) { TENAX_HDF5(H5Ldelete(file, kChunkList, H5P_DEFAULT)); });
}

void write_chunk_list(const std::filesystem::path& path, const std::vector<std::int64_t>& places) {
  delete_chunk_list(path);
  change_hdf5(path, [&](hid_t file) {
    const hsize_t size = places.size();
    const Hdf5Id space(TENAX_HDF5(H5Screate_simple(1, &size, nullptr)), H5Sclose);
    const Hdf5Id list(
        TENAX_HDF5(H5Dcreate2(file, kChunkList, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)),
        H5Dclose);
    TENAX_HDF5(H5Dwrite(list, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, places.data()));
  });
}

std::vector<std::int64_t> chunk_list(const std::filesystem::path& path) {
  std::vector<std::int64_t> places(5);
  change_hdf5(path, [&](hid_t file) {
    const Hdf5Id list(TENAX_HDF5(H5Dopen2(file, kChunkList, H5P_DEFAULT)), H5Dclose);
    TENAX_HDF5(H5Dread(list, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, places.data()));
  });
  return places;
}

TEST(TokenHdf5File, says_where_its_chunks_are_as_hdf5_finds_them) {
  const TemporaryFolder folder;
  const auto path = write_chunks(folder);
  const std::vector<std::int64_t> places = chunk_list(path);
  EXPECT_EQ(locate_tokens(path).offsets, places);
  delete_chunk_list(path);
  EXPECT_EQ(locate_tokens(path).offsets, places);
  EXPECT_NO_THROW(verify_token_file(path));
}

// As h5repack would leave it, and as nobody would.
TEST(TokenHdf5File, is_read_by_what_hdf5_finds_where_its_list_of_chunks_is_wrong) {
  const TemporaryFolder folder;
  const auto path = write_chunks(folder);
  const std::vector<std::int64_t> places = chunk_list(path);
  std::vector<std::int64_t> moved = places, swapped = places, outside = places;
  for (std::int64_t& place : moved) place += 64;
  std::swap(swapped[1], swapped[2]);
  outside[3] = std::int64_t{1} << 40;
  for (const auto& list : {moved, swapped, outside, {places.begin(), places.end() - 1}, {}}) {
    write_chunk_list(path, list);
    EXPECT_EQ(locate_tokens(path).offsets, places);
  }
}

// As tenax 0.1.0 wrote it, but for its text.
TEST(TokenHdf5File, without_checksums_of_its_parts_is_read_as_it_is) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.h5";
  const auto writer = TokenWriter::create(path, *Tokenizer::create("bytes", ""), {});
  writer->append(periodic(10'000, 251));
  writer->publish();
  {
    const Hdf5Session session;
    const Hdf5Id file(TENAX_HDF5(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)), H5Fclose);
    TENAX_HDF5(H5Ldelete(file, "/checksums", H5P_DEFAULT));
    const std::int64_t format = 1;
    const Hdf5Id attribute(TENAX_HDF5(H5Aopen(file, "format_version", H5P_DEFAULT)), H5Aclose);
    TENAX_HDF5(H5Awrite(attribute, H5T_NATIVE_INT64, &format));
  }
  EXPECT_EQ(all_of(path), periodic(10'000, 251));
  EXPECT_NO_THROW(verify_old_token_file(path));
  std::string bytes = folder.read("a.h5");
  bytes[static_cast<std::size_t>(locate_tokens(path).offsets.front() + 500)] ^= 1;
  folder.write("a.h5", bytes);
  EXPECT_NE(error_of([&] { verify_old_token_file(path); }).first.find("damaged"), std::string::npos);
}

TEST(TokenHdf5File, that_is_none_or_cut_short_is_refused) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.h5", "not HDF5");
  EXPECT_EQ(error_of([&] { read_token_file_info(path); }).first,
            "token file " + path.string() + ": it is not a whole HDF5 file");
  const auto checkpoint = folder.write("step.h5", "tenax checkpoint 1\n");
  EXPECT_EQ(error_of([&] { read_token_file_info(checkpoint); }).first,
            "token file " + checkpoint.string() + ": it is a checkpoint of tenax, not tokens");
  const auto whole = folder.path() / "b.h5";
  const auto writer = TokenWriter::create(whole, *Tokenizer::create("bytes", ""), {});
  writer->append(periodic(200000, 251));
  writer->publish();
  const auto cut = folder.write("c.h5", folder.read("b.h5").substr(0, 300000));
  EXPECT_EQ(error_of([&] { all_of(cut); }).second, 1);
}

TEST(TokenWriter, leaves_nothing_where_it_did_not_come_to_its_end) {
  const TemporaryFolder folder;
  for (const char* name : {"a.h5", "a.bin"}) {
    const auto writer = TokenWriter::create(folder.path() / name, *Tokenizer::create("bytes", ""), {});
    writer->append(periodic(200000, 251));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// HDF5 must not be left with a file that it could not close: it would close it once more when the process ends, and crash.
TEST(TokenWriter, on_a_disk_that_is_full_says_so_and_the_process_lives) {
  const TemporaryFolder folder;
  for (const std::int64_t bytes : {4096, 100'000, 300'000, 600'000}) {
    const resilience::SmallDisk disk(folder.path() / "small", bytes);
    if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
    const auto work = [&] {
      const auto [message, status] = error_of([&] {
        const auto path = folder.path() / "small" / "a.h5";
        const auto writer = TokenWriter::create(path, *Tokenizer::create("bytes", ""), {"a.txt"});
        for (int i = 0; i < 4; ++i) writer->append(periodic(100'000, 251));
        writer->publish();
      });
      std::fputs((message + "\n").c_str(), stderr);
      std::exit(status);
    };
    EXPECT_EXIT(work(), testing::ExitedWithCode(1),
                "^cannot write .*/small/a.h5: No space left on device .make room")
        << bytes;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "small"));
  }
}

TEST(TokenWriter, refuses_names_it_does_not_know_and_folders_that_are_not_there) {
  const TemporaryFolder folder;
  const auto bytes = Tokenizer::create("bytes", "");
  EXPECT_EQ(error_of([&] { TokenWriter::create(folder.path() / "a.txt", *bytes, {}); }).second, 2);
  for (const char* name : {"x/a.h5", "x/a.bin"})
    EXPECT_EQ(error_of([&] { TokenWriter::create(folder.path() / name, *bytes, {}); }).second, 1);
}

/// As many tokens as asked for; what they stand for does not matter.
class LargeVocabulary final : public Tokenizer {
 public:
  explicit LargeVocabulary(std::int64_t size) : size_(size) {}
  std::string name() const override { return "gpt2"; }
  std::int64_t vocab_size() const override { return size_; }
  std::string_view bytes_of(std::int32_t) const override { return "x"; }
  std::optional<std::int32_t> end_of_text() const override { return {}; }
  std::unique_ptr<TextEncoder> create_encoder() const override { return nullptr; }
  std::size_t last_cut(std::string_view) const override { return 0; }

 private:
  std::int64_t size_;
};

TEST(TokenWriter, takes_32_bits_a_token_where_16_do_not_hold_the_vocabulary) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.h5";
  const auto writer = TokenWriter::create(path, LargeVocabulary(65537), {});
  writer->append(Tokens{1, 65536});
  writer->publish();
  EXPECT_EQ(locate_tokens(path).bytes_per_token, 4U);
  EXPECT_EQ(all_of(path), (Tokens{1, 65536}));
  EXPECT_NO_THROW(verify_token_file(path));
  const auto [message, status] =
      error_of([&] { TokenWriter::create(folder.path() / "a.bin", LargeVocabulary(65537), {}); });
  EXPECT_EQ(status, 2);
  EXPECT_NO_THROW(TokenWriter::create(folder.path() / "a.bin", LargeVocabulary(65536), {}));
}

}  // namespace
}  // namespace tenax::io::test
