// Token files: the first byte says whether the rest is one of tenax tokenize (HDF5) or a .bin.
#include "fuzz_target.hpp"
#include "io/token_file.hpp"
#include "io/token_inspect.hpp"
#include "io/token_writer.hpp"
#include "io/tokens.hpp"
#include "tests/io/bpe_fixture.hpp"

namespace tenax::fuzz {
namespace {

void read_tokens(const std::filesystem::path& file) {
  const auto tokens = io::TokenFile::open(file, "bytes", {.seq_length = 4, .vocab_size = 300, .scan = true});
  std::vector<std::int32_t> all(static_cast<std::size_t>(tokens->size()));
  tokens->read(0, all);
  for (const std::int32_t token : all) require(token < 300, "every token is below the vocabulary's size");
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
  return {"h" + written_by(*vocabulary.tokenizer(), "a.h5"), "h" + written_by(*bytes, "a.h5"),
          "b" + written_by(*bytes, "a.bin")};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const io::test::TemporaryFolder folder;
  if (size == 0) return 0;
  const auto text = fuzz::text_of(data, size);
  fuzz::read_all(folder.write(text.front() == 'b' ? "a.bin" : "a.h5", std::string(text.substr(1))));
  return 0;
}
