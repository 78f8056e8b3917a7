#include "io/stored_tokens.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/error.hpp"

namespace tenax::io {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens are read as they lie in the file");

template <class Stored>
void widen(const std::byte* bytes, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<std::int32_t>(stored);
  }
}

/// The first place of a token that is at least `limit`, or negative as a number of 32 bits is from 2^31 on.
std::size_t place_of_at_least(std::span<const std::int32_t> tokens, std::int64_t limit) {
  std::uint32_t largest = 0;
  for (const std::int32_t token : tokens) largest = std::max(largest, static_cast<std::uint32_t>(token));
  const auto reaches = [&](std::int32_t token) { return static_cast<std::uint32_t>(token) >= limit; };
  if (largest < limit) return tokens.size();
  return static_cast<std::size_t>(std::find_if(tokens.begin(), tokens.end(), reaches) - tokens.begin());
}

}  // namespace

StoredTokens::StoredTokens(TokenBytes bytes, const TokenPieces& size, Locate locate, std::int64_t vocab_size)
    : bytes_(std::move(bytes)),
      width_(size.bytes_per_token),
      tokens_(size.tokens),
      vocab_size_(vocab_size),
      locate_(std::move(locate)) {}

const TokenPieces& StoredTokens::pieces() const {
  std::call_once(located_, [&] {
    pieces_ = locate_();
    if (pieces_.tokens != tokens_ || pieces_.bytes_per_token != width_)
      throw kernels::Error(kernels::Scope::rank,
                           "token file " + path().string() + ": somebody has changed it while it was open");
  });
  return pieces_;
}

bool StoredTokens::may_reach(std::int64_t limit) const { return limit < std::int64_t{1} << 8 * width_; }

void StoredTokens::read(std::int64_t begin, std::span<std::int32_t> out) const {
  read_unchecked(begin, out);
  if (vocab_size_ == 0 || !may_reach(vocab_size_)) return;
  const std::size_t wrong = place_of_at_least(out, vocab_size_);
  if (wrong < out.size())
    refuse_token(path(), out[wrong], begin + static_cast<std::int64_t>(wrong), vocab_size_);
}

void StoredTokens::read_unchecked(std::int64_t begin, std::span<std::int32_t> out) const {
  assert(begin >= 0 && begin + static_cast<std::int64_t>(out.size()) <= size());
  const std::int64_t length = pieces().piece_tokens;
  while (!out.empty()) {
    const std::int64_t within = begin % length;
    const auto part = out.first(std::min(out.size(), static_cast<std::size_t>(length - within)));
    read_piece(pieces().offsets[static_cast<std::size_t>(begin / length)] +
                   within * static_cast<std::int64_t>(width_),
               part);
    out = out.subspan(part.size());
    begin += static_cast<std::int64_t>(part.size());
  }
}

void StoredTokens::read_piece(std::int64_t offset, std::span<std::int32_t> out) const {
  std::vector<std::byte> raw(out.size() * width_);
  bytes_.read(raw, offset);
  if (width_ == 1) return widen<std::uint8_t>(raw.data(), out);
  if (width_ == 2) return widen<std::uint16_t>(raw.data(), out);
  widen<std::uint32_t>(raw.data(), out);
}

std::int64_t StoredTokens::find_at_least(std::int64_t limit, std::int64_t begin, std::int64_t end) const {
  assert(begin >= 0 && begin <= end && end <= size());
  if (!may_reach(limit)) return end;
  constexpr std::int64_t kBlock = 1 << 17;
  std::vector<std::int32_t> block;
  for (; begin < end; begin += kBlock) {
    block.resize(static_cast<std::size_t>(std::min(kBlock, end - begin)));
    read_unchecked(begin, block);
    const std::size_t found = place_of_at_least(block, limit);
    if (found < block.size()) return begin + static_cast<std::int64_t>(found);
  }
  return end;
}

}  // namespace tenax::io
