#include "io/tokenizer.hpp"

#include "io/bpe.hpp"
#include "io/byte_tokenizer.hpp"
#include "kernels/error.hpp"

namespace tenax::io {

using kernels::Error;
using kernels::Scope;

std::unique_ptr<Tokenizer> Tokenizer::create(const std::string& name,
                                             const std::filesystem::path& vocab_dir) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  if (name != "gpt2") throw Error(Scope::usage, "unknown tokenizer " + name + ": it is bytes or gpt2");
  if (vocab_dir.empty())
    throw Error(
        Scope::usage,
        "the tokenizer gpt2 needs the folder with its encoder.json and vocab.bpe (data.vocab_dir in a deck, "
        "--vocab on a command line)");
  return std::make_unique<Bpe>(read_bpe_vocabulary(vocab_dir));
}

std::vector<std::int32_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokenizer.create_encoder()->encode(text, tokens);
  return tokens;
}

std::string decode(const Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
  std::string text;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= tokenizer.vocab_size())
      throw Error(Scope::rank, "token " + std::to_string(token) + " is not in the vocabulary of " +
                                   std::to_string(tokenizer.vocab_size()) + " tokens of the tokenizer " +
                                   tokenizer.name());
    text += tokenizer.bytes_of(token);
  }
  return text;
}

}  // namespace tenax::io
