#include "app/training/token_opening.hpp"

#include <cstring>
#include <filesystem>
#include <vector>

#include "comm/control_group.hpp"
#include "io/tokenizer/tokenizer.hpp"
#include "io/tokens/text_chunks.hpp"
#include "io/tokens/token_bytes.hpp"

namespace tenax::app {

namespace {

using Tokens = std::vector<std::int32_t>;

std::string bytes_of(const Tokens& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(tokens.front())};
}

void append(Tokens& tokens, const std::string& bytes) {
  const std::size_t before = tokens.size();
  tokens.resize(before + bytes.size() / sizeof(tokens.front()));
  std::memcpy(tokens.data() + before, bytes.data(), bytes.size());
}

/// One rank's part of the work.
class Tokenizing {
 public:
  Tokenizing(const std::string& file, const io::DataSection& data)
      : tokenizer_(io::Tokenizer::create(data.tokenizer, data.vocab_dir)),
        encoder_(tokenizer_->create_encoder()),
        chunks_(file, *tokenizer_) {}

  /// Of the file's next `ranks` chunks the tokens of number `rank`; none beyond its end.
  Tokens next(int rank, int ranks) {
    Tokens tokens;
    for (int i = 0; i < ranks; ++i) {
      const std::string text = chunks_.next();
      if (i == rank) encoder_->encode(text, tokens);
    }
    return tokens;
  }

 private:
  std::unique_ptr<io::Tokenizer> tokenizer_;
  std::unique_ptr<io::TextEncoder> encoder_;
  io::TextChunks chunks_;
};

Tokens tokenize_together(comm::ControlGroup& control, const std::string& file, const io::DataSection& data) {
  std::unique_ptr<Tokenizing> work;
  control.agree([&] {
    const io::TokenBytes refuses_pipes(file);  // of which each rank would read a part
    work = std::make_unique<Tokenizing>(file, data);
  });
  Tokens tokens;
  for (bool more = true; more;) {
    const auto parts =
        comm::agreed_answers(control, [&] { return bytes_of(work->next(control.rank(), control.size())); });
    for (const std::string& part : parts) append(tokens, part);
    more = !parts.back().empty();
  }
  return tokens;
}

}  // namespace

std::unique_ptr<io::TokenFile> open_together(comm::ControlGroup& control, const std::string& file,
                                             const io::Deck& deck) {
  const io::TokenDemands demands{deck.model.seq_length, deck.model.vocab_size, false};
  const bool is_text = std::filesystem::path(file).extension() == ".txt" && !deck.data.tokens_are_bytes();
  const Tokens tokens = is_text ? tokenize_together(control, file, deck.data) : Tokens{};
  std::unique_ptr<io::TokenFile> opened;
  control.agree([&] {
    opened = is_text ? io::TokenFile::keep(tokens, file, demands)
                     : io::TokenFile::open(file, deck.data.tokenizer, demands);
  });
  return opened;
}

}  // namespace tenax::app
