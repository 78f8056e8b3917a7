// Token files: the first byte says whether the rest is one of tenax tokenize (HDF5), a .bin, or Megatron's index of a .bin.
#include "io/tokens/token_file.hpp"
#include "io/tokens/token_hdf5.hpp"
#include "io/tokens/token_inspect.hpp"
#include "io/tokens/token_writer.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"

namespace tenax::fuzz {
namespace {

void read_tokens(const std::filesystem::path& file) {
  const auto tokens = io::TokenFile::open(file, "bytes", {.seq_length = 4, .vocab_size = 300, .scan = true});
  std::vector<std::int32_t> all(static_cast<std::size_t>(tokens->size()));
  tokens->read(0, all);
  for (const std::int32_t token : all) require(token < 300, "every token is below the vocabulary's size");
}

/// An index of 6 tokens beside them.
void read_indexed(const io::test::TemporaryFolder& folder, std::string_view index) {
  const auto bin = folder.write("i.bin", std::string("\1\0\2\0\3\0\4\0\5\0\6\0", 12));
  folder.write("i.idx", std::string(index));
  accepts([&] { read_tokens(bin); });
  accepts([&] { io::describe_token_file(bin); });
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

std::string llmc_bin(std::uint64_t magic, int bytes_per_token) {
  return little_endian(magic, 4) + little_endian(1, 4) + little_endian(6, 4) + std::string(1012, '\0') +
         std::string(static_cast<std::size_t>(6 * bytes_per_token), '\1');
}

/// Two sequences of 2 and 4 tokens, a document each.
std::string megatron_index() {
  std::string text = std::string("MMIDIDX\0\0", 9) + little_endian(1, 8) + little_endian(8, 1) +
                     little_endian(2, 8) + little_endian(3, 8);
  for (const std::uint64_t size : {2U, 4U}) text += little_endian(size, 4);
  for (const std::uint64_t number : {0U, 4U, 0U, 1U, 2U}) text += little_endian(number, 8);
  return text;
}

/// Each of them for itself: what one refuses, another may read.
void read_all(const std::filesystem::path& file) {
  accepts([&] { read_tokens(file); });
  if (file.extension() != ".h5") return;
  accepts([&] { io::read_token_file_info(file); });
  accepts([&] { io::read_token_documents(file); });
  accepts([&] { io::read_token_vocabulary(file); });
  accepts([&] { io::describe_token_file(file); });
}

std::string written_by(const io::Tokenizer& tokenizer, const char* name) {
  const io::test::TemporaryFolder folder;
  const auto writer = io::TokenWriter::create(folder.path() / name, tokenizer, {"one.txt", "two.txt"});
  for (const char* text : {"then the", "they"}) {
    writer->append(io::encode(tokenizer, text));
    writer->begin_document();
  }
  writer->publish();
  return folder.read(name);
}

}  // namespace

std::vector<std::string> seeds() {
  const io::test::SmallVocabulary vocabulary;
  const auto bytes = io::Tokenizer::create("bytes", "");
  return {"h" + written_by(*vocabulary.tokenizer(), "a.h5"),
          "h" + written_by(*bytes, "a.h5"),
          "b" + written_by(*bytes, "a.bin"),
          "b" + llmc_bin(20240520, 2),
          "b" + llmc_bin(20240801, 4),
          "i" + megatron_index()};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const io::test::TemporaryFolder folder;
  if (size == 0) return 0;
  const auto text = fuzz::text_of(data, size);
  if (text.front() == 'i')
    fuzz::read_indexed(folder, text.substr(1));
  else
    fuzz::read_all(folder.write(text.front() == 'b' ? "a.bin" : "a.h5", std::string(text.substr(1))));
  return 0;
}
