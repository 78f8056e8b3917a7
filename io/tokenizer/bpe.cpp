#include "io/tokenizer/bpe.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "io/tokenizer/bpe_split.hpp"

namespace tenax::io {
namespace {

/// A word of at most kLongest bytes, to compare at once.
struct CachedWord {
  static constexpr std::size_t kLongest = 16;
  std::array<std::uint64_t, 2> bytes{};
  std::size_t length = 0;  ///< 0: none

  bool operator==(const CachedWord&) const = default;

  /// word.size() <= kLongest; `readable` bytes may be read from its beginning on.
  static CachedWord of(std::string_view word, std::size_t readable) {
    CachedWord key;
    key.length = word.size();
    if (readable < kLongest) {
      std::memcpy(key.bytes.data(), word.data(), word.size());
      return key;
    }
    std::memcpy(key.bytes.data(), word.data(), kLongest);
    const auto first_bytes = [](std::size_t count) {
      return count >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * count) - 1;
    };
    key.bytes[0] &= first_bytes(word.size());
    key.bytes[1] &= word.size() > 8 ? first_bytes(word.size() - 8) : 0;
    return key;
  }

  std::uint64_t hash() const {
    const std::uint64_t sum = bytes[0] * 0x9E3779B97F4A7C15U ^ bytes[1] * 0xC2B2AE3D27D4EB4FU;
    return (sum ^ sum >> 32) * 0x9E3779B97F4A7C15U;
  }
};

/// Words and their tokens, of a fixed size: a word replaces another that hashes alike.
class BpeWordCache {
 public:
  static constexpr std::size_t kMostTokens = 5;

  /// The tokens of `word`; empty if it is not there.
  std::span<const std::int32_t> find(const CachedWord& word) const {
    const Entry& entry = entries_[index_of(word)];
    return {entry.tokens.data(), entry.word == word ? entry.count : 0};
  }
  /// Words of more than kMostTokens tokens are not kept.
  void insert(const CachedWord& word, std::span<const std::int32_t> tokens) {
    if (tokens.size() > kMostTokens) return;
    Entry& entry = entries_[index_of(word)];
    entry.word = word;
    entry.count = tokens.size();
    std::copy(tokens.begin(), tokens.end(), entry.tokens.begin());
  }

 private:
  static constexpr int kIndexBits = 15;
  struct Entry {
    CachedWord word;
    std::array<std::int32_t, kMostTokens> tokens{};
    std::size_t count = 0;
  };
  static std::size_t index_of(const CachedWord& word) { return word.hash() >> (64 - kIndexBits); }

  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << kIndexBits);
};

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
