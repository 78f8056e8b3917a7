// llm.c's .bin begins with 256 little-endian int32, of which the first three are used: magic, version, token count. The
// magic tells how wide the tokens behind them are (llm.c, dev/data/data_common.py).
#include "io/tokens/token_bin.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "io/tokens/token_bin.hpp"
#include "io/tokens/token_bytes.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

constexpr std::int32_t kMagicUint16 = 20240520, kMagicUint32 = 20240801;
constexpr std::int64_t kHeaderBytes = 1024;

struct LlmcHeader {
  std::int32_t magic = 0, version = 0, tokens = 0;
  bool is_one() const { return magic == kMagicUint16 || magic == kMagicUint32; }
};

/// All zero where the file is too short for a header.
LlmcHeader read_header(const TokenBytes& file) {
  std::array<std::int32_t, 3> words{};
  if (file.size() >= kHeaderBytes) file.read(std::as_writable_bytes(std::span(words)), 0);
  return {words[0], words[1], words[2]};
}

TokenBin llmc_bin(const TokenBytes& file, const LlmcHeader& header) {
  const std::int64_t width = header.magic == kMagicUint16 ? 2 : 4, tokens = header.tokens;
  if (tokens <= 0 || file.size() != kHeaderBytes + tokens * width)
    refuse_tokens(file.path(), "its llm.c header (magic " + std::to_string(header.magic) + ") promises " +
                                   std::to_string(tokens) + " tokens of " + std::to_string(width) +
                                   " bytes behind 1024, but the file has " + std::to_string(file.size()) +
                                   " bytes: it is damaged or cut short; write it again");
  return {{static_cast<std::size_t>(width), tokens, tokens, {kHeaderBytes}},
          "llm.c's, uint" + std::to_string(8 * width) + ", version " + std::to_string(header.version)};
}

/// The uint16 at the beginning of a file, in pairs as the low and the high half of 32 bits.
struct Halves {
  std::size_t pairs = 0;
  std::uint16_t largest_low = 0, largest_high = 0;
};

Halves read_halves(const TokenBytes& file) {
  constexpr std::int64_t kLooked = 1 << 20;
  std::vector<std::uint16_t> numbers(static_cast<std::size_t>(std::min(kLooked, file.size())) / 2);
  file.read(std::as_writable_bytes(std::span(numbers)), 0);
  Halves halves{.pairs = numbers.size() / 2};
  for (std::size_t i = 0; i < 2 * halves.pairs; i += 2) {
    halves.largest_low = std::max(halves.largest_low, numbers[i]);
    halves.largest_high = std::max(halves.largest_high, numbers[i + 1]);
  }
  return halves;
}

/// Why the numbers of a file must be of 32 bits, with a remedy; empty if they need not be. Low halves that are bytes
/// prove nothing: they may be those of a text in UTF-16.
std::string sign_of_32_bits(const TokenBytes& file, std::int64_t vocab_size) {
  constexpr std::size_t kLeastPairs = 4, kManyPairs = 2048;
  constexpr std::uint16_t kSmallHigh = 64, kLargeLow = 256;
  const Halves halves = file.size() % 4 == 0 ? read_halves(file) : Halves{};
  if (halves.pairs < kLeastPairs) return {};
  if (halves.largest_high == 0)
    return "every second of its uint16 is 0, so its tokens are int32: put Megatron's .idx beside it, or "
           "write it as uint16 (numpy.fromfile(FILE, '<i4').astype('<u2').tofile(NEW))";
  if (vocab_size <= UINT16_MAX + 1 || halves.pairs < kManyPairs || halves.largest_high >= kSmallHigh ||
      halves.largest_low < kLargeLow)
    return {};
  return "every second of its uint16 is small, and others are not, so its tokens are of 32 bits: put "
         "Megatron's .idx beside it, or llm.c's header before them: 256 int32, which begin with 20240801 "
         "(20240520 if they are uint16 after all), 7 and the number of tokens";
}

TokenBin raw_bin(const TokenBytes& file, std::int64_t vocab_size) {
  constexpr std::int64_t kWidth = 2;
  if (file.size() % kWidth != 0)
    refuse_tokens(file.path(), "truncated: its " + std::to_string(file.size()) +
                                   " bytes are not a whole number of 2-byte tokens");
  if (const std::string sign = sign_of_32_bits(file, vocab_size); !sign.empty())
    refuse_tokens(file.path(), sign);
  return {{kWidth, file.size() / kWidth, file.size() / kWidth, {0}}, "raw little-endian uint16"};
}

}  // namespace

TokenBin read_token_bin(const std::filesystem::path& path, std::int64_t vocab_size) {
  const TokenBytes file(path);
  std::error_code none;
  const std::filesystem::path beside = megatron_index_of(path);
  if (std::filesystem::exists(beside, none)) {
    const MegatronIndex index = read_megatron_index(beside, file.size());
    return {{index.bytes_per_token, index.tokens, index.tokens, {0}},
            "Megatron's, " + index.dtype,
            index.documents};
  }
  const LlmcHeader header = read_header(file);
  return header.is_one() ? llmc_bin(file, header) : raw_bin(file, vocab_size);
}

}  // namespace tenax::io
