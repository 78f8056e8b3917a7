#include "io/tokens/stored_tokens.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "io/checksum.hpp"
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
  const std::int64_t end = begin + static_cast<std::int64_t>(out.size());
  assert(begin >= 0 && end <= size());
  const bool is_checked = pieces().checksums_at != 0;
  const std::int64_t first = is_checked ? begin / kCheckedTokens * kCheckedTokens : begin;
  const std::int64_t last = (end + kCheckedTokens - 1) / kCheckedTokens * kCheckedTokens;
  const std::vector<std::byte> bytes = read_bytes(first, is_checked ? std::min(last, tokens_) : end);
  if (is_checked) verify(first, bytes);
  const std::byte* const from = bytes.data() + static_cast<std::size_t>(begin - first) * width_;
  if (width_ == 1) return widen<std::uint8_t>(from, out);
  if (width_ == 2) return widen<std::uint16_t>(from, out);
  widen<std::uint32_t>(from, out);
}

/// Of the tokens [begin, end).
std::vector<std::byte> StoredTokens::read_bytes(std::int64_t begin, std::int64_t end) const {
  const std::int64_t length = pieces().piece_tokens, width = static_cast<std::int64_t>(width_);
  std::vector<std::byte> bytes(static_cast<std::size_t>((end - begin) * width));
  for (std::span<std::byte> rest(bytes); begin < end;) {
    const std::int64_t within = begin % length, count = std::min(end - begin, length - within);
    const auto part = rest.first(static_cast<std::size_t>(count * width));
    bytes_.read(part, pieces().offsets[static_cast<std::size_t>(begin / length)] + within * width);
    rest = rest.subspan(part.size());
    begin += count;
  }
  return bytes;
}

/// `bytes`: of whole blocks of tokens from `begin` on.
void StoredTokens::verify(std::int64_t begin, std::span<const std::byte> bytes) const {
  const std::size_t length = static_cast<std::size_t>(kCheckedTokens) * width_;
  std::vector<std::uint64_t> written((bytes.size() + length - 1) / length);
  bytes_.read(
      std::as_writable_bytes(std::span(written)),
      pieces().checksums_at + begin / kCheckedTokens * static_cast<std::int64_t>(sizeof(std::uint64_t)));
  std::int64_t at = begin * static_cast<std::int64_t>(width_);  // among the bytes of all tokens
  for (const std::uint64_t checksum : written) {
    const auto block = bytes.first(std::min(length, bytes.size()));
    if (checksum_of_bytes(block, at) != checksum) {
      const std::int64_t token = at / static_cast<std::int64_t>(width_);
      throw kernels::Error(
          kernels::Scope::rank,
          "token file " + path().string() + ": damaged: its tokens from " + std::to_string(token) +
              " on do not have the checksum they were written with; tokenize again, or bring a "
              "sound copy");
    }
    bytes = bytes.subspan(block.size());
    at += static_cast<std::int64_t>(block.size());
  }
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
