// BpeMerges: byte pair encoding of one word (Sennrich, Haddow, Birch, ACL 2016). While the
// vocabulary merges some neighbours, the pair of lowest rank is merged, the leftmost of equals
// first.
#pragma once

#include <cstdint>
#include <vector>

#include "io/tokenizer/bpe_vocabulary.hpp"

namespace tenax::io {

/// The token that two tokens become, and its rank: the lowest is merged first.
struct BpeMerged {
  static constexpr std::uint32_t kNever = UINT32_MAX;
  std::uint32_t rank = kNever;  ///< kNever: they stay two
  std::int32_t token = 0;
};

/// Immutable; may be used from several threads.
class BpeMerges {
 public:
  explicit BpeMerges(const std::vector<BpeMerge>& merges);

  const BpeMerged& find(std::int32_t left, std::int32_t right) const;
  /// Merges within `tokens` from position `begin` on.
  void apply(std::vector<std::int32_t>& tokens, std::size_t begin) const;

 private:
  struct Slot {
    std::uint64_t pair = 0;
    BpeMerged merge;
  };

  static std::uint64_t pair_of(std::int32_t left, std::int32_t right);
  std::size_t home_of(std::uint64_t pair) const;
  void apply_to_short(std::vector<std::int32_t>& tokens, std::size_t begin) const;

  std::vector<Slot> slots_;  // open addressing; a power of two
  int shift_ = 0;
};

}  // namespace tenax::io
