#include "io/tokens/detokenize.hpp"

#include <algorithm>
#include <span>

#include "io/posix_file.hpp"
#include "io/tokenizer/tokenizer.hpp"
#include "io/tokens/token_file.hpp"
#include "io/tokens/tokens.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

bool is_hdf5(const std::filesystem::path& file) { return file.extension() == ".h5"; }

std::vector<std::string> texts_of(const Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (std::int32_t token = 0; token < tokenizer.vocab_size(); ++token)
    texts.emplace_back(tokenizer.bytes_of(token));
  return texts;
}

void check(std::span<const std::int32_t> tokens, std::size_t vocab_size, const std::filesystem::path& file,
           std::int64_t first) {
  const auto wrong = std::find_if(tokens.begin(), tokens.end(), [&](std::int32_t token) {
    return static_cast<std::uint32_t>(token) >= vocab_size;
  });
  if (wrong == tokens.end()) return;
  throw kernels::Error(kernels::Scope::rank,
                       "token file " + file.string() + ": token " + std::to_string(*wrong) + " at position " +
                           std::to_string(first + (wrong - tokens.begin())) + " is not one of the " +
                           std::to_string(vocab_size) + " of its tokenizer; is it another's file?");
}

}  // namespace

std::vector<std::string> token_texts(const std::filesystem::path& file, const std::string& tokenizer,
                                     const std::filesystem::path& vocab_dir) {
  if (!is_hdf5(file)) return texts_of(*Tokenizer::create(tokenizer, vocab_dir));
  if (read_token_file_info(file).tokenizer == "bytes") return texts_of(*Tokenizer::create("bytes", {}));
  return read_token_vocabulary(file);
}

std::int64_t detokenize(const std::filesystem::path& file, const std::vector<std::string>& texts,
                        const std::filesystem::path& text) {
  if (is_hdf5(file)) verify_token_file(file);
  const auto tokens = TokenFile::open(file, "bytes", {.seq_length = 0, .vocab_size = 0, .scan = false});
  AtomicFile out(text);
  std::vector<std::int32_t> block(1 << 16);
  std::string bytes;
  std::int64_t written = 0;
  for (std::int64_t at = 0; at < tokens->size(); at += static_cast<std::int64_t>(block.size())) {
    block.resize(std::min(block.size(), static_cast<std::size_t>(tokens->size() - at)));
    tokens->read(at, block);
    bytes.clear();
    check(block, texts.size(), file, at);
    for (const std::int32_t token : block) bytes += texts[static_cast<std::size_t>(token)];
    out.file().write(std::as_bytes(std::span(bytes)), written);
    written += static_cast<std::int64_t>(bytes.size());
  }
  out.publish();
  return written;
}

}  // namespace tenax::io
