#include "io/tokenizer/bpe.hpp"

#include <cassert>
#include <utility>

#include "io/tokenizer/bpe_split.hpp"
#include "io/tokenizer/bpe_word_cache.hpp"

namespace tenax::io {
namespace {

class BpeEncoder final : public TextEncoder {
 public:
  BpeEncoder(const BpeVocabulary& vocabulary, const BpeMerges& merges)
      : vocabulary_(vocabulary), merges_(merges) {}

  void encode(std::string_view text, std::vector<std::int32_t>& tokens) override {
    while (vocabulary_.end_of_text) {
      const std::size_t at = text.find(kEndOfText);
      if (at == std::string_view::npos) break;
      encode_words(text.substr(0, at), tokens);
      tokens.push_back(*vocabulary_.end_of_text);
      text.remove_prefix(at + kEndOfText.size());
    }
    encode_words(text, tokens);
  }

 private:
  void encode_words(std::string_view text, std::vector<std::int32_t>& tokens) {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end;) {
      const char* const stop = word_end(at, end);
      const std::string_view word(at, static_cast<std::size_t>(stop - at));
      encode_word(word, static_cast<std::size_t>(end - at), tokens);
      at = stop;
    }
  }

  void encode_word(std::string_view word, std::size_t readable, std::vector<std::int32_t>& tokens) {
    if (word.size() > CachedWord::kLongest) return merge(word, tokens);
    const CachedWord key = CachedWord::of(word, readable);
    if (const auto known = cache_.find(key); !known.empty()) {
      for (const std::int32_t token : known) tokens.push_back(token);
      return;
    }
    const std::size_t begin = tokens.size();
    merge(word, tokens);
    cache_.insert(key, std::span(tokens).subspan(begin));
  }

  void merge(std::string_view word, std::vector<std::int32_t>& tokens) const {
    const std::size_t begin = tokens.size();
    for (const char c : word) tokens.push_back(vocabulary_.token_of_byte[static_cast<unsigned char>(c)]);
    merges_.apply(tokens, begin);
  }

  const BpeVocabulary& vocabulary_;
  const BpeMerges& merges_;
  BpeWordCache cache_;
};

}  // namespace

Bpe::Bpe(BpeVocabulary vocabulary) : vocabulary_(std::move(vocabulary)), merges_(vocabulary_.merges) {}

std::string_view Bpe::bytes_of(std::int32_t token) const {
  assert(token >= 0 && token < vocab_size());
  return vocabulary_.bytes_of_token[static_cast<std::size_t>(token)];
}

std::unique_ptr<TextEncoder> Bpe::create_encoder() const {
  return std::make_unique<BpeEncoder>(vocabulary_, merges_);
}

std::size_t Bpe::last_cut(std::string_view text) const { return last_cut_between_words(text); }

}  // namespace tenax::io
