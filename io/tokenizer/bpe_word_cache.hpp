// Words and their tokens, of a fixed size: a word takes the place of another that hashes alike.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace tenax::io {

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

}  // namespace tenax::io
