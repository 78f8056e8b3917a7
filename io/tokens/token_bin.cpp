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

/// Whether the numbers are such as int32 below 65536 make: each second uint16 is 0.
bool looks_like_int32(const TokenBytes& file) {
  constexpr std::int64_t kLooked = 1 << 20, kLeast = 16;
  if (file.size() % 4 != 0 || file.size() < kLeast) return false;
  std::vector<std::uint16_t> numbers(static_cast<std::size_t>(std::min(kLooked, file.size())) / 2);
  file.read(std::as_writable_bytes(std::span(numbers)), 0);
  std::uint16_t any = 0;
  for (std::size_t i = 1; i < numbers.size(); i += 2) any |= numbers[i];
  return any == 0;
}

TokenBin raw_bin(const TokenBytes& file) {
  constexpr std::int64_t kWidth = 2;
  if (file.size() % kWidth != 0)
    refuse_tokens(file.path(), "truncated: its " + std::to_string(file.size()) +
                                   " bytes are not a whole number of 2-byte tokens");
  if (looks_like_int32(file))
    refuse_tokens(
        file.path(),
        "every second of its uint16 is 0, so its tokens are int32: put Megatron's .idx beside it, or write "
        "it as "
        "uint16 (numpy.fromfile(FILE, '<i4').astype('<u2').tofile(NEW))");
  return {{kWidth, file.size() / kWidth, file.size() / kWidth, {0}}, "raw little-endian uint16"};
}

}  // namespace

TokenBin read_token_bin(const std::filesystem::path& path) {
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
  return header.is_one() ? llmc_bin(file, header) : raw_bin(file);
}

}  // namespace tenax::io
