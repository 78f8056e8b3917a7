#include "io/checksum.hpp"

#include <bit>
#include <cassert>
#include <cstring>

#include "kernels/error.hpp"
#include "kernels/number_text.hpp"
#include "kernels/random.hpp"

namespace tenax::io {

static_assert(std::endian::native == std::endian::little, "checkpoints are written as memory holds them");

namespace {

// Plain and branch-free: the compiler vectorises it.
[[gnu::always_inline]] inline std::uint64_t sum_of_words(const unsigned char* bytes, std::uint64_t count,
                                                         std::uint64_t first) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t word;
    std::memcpy(&word, bytes + 4 * i, 4);
    sum += kernels::mixed((first + i) * 0x9E3779B97F4A7C15U ^ word);
  }
  return sum;
}

#if defined(__x86_64__)
// AVX-512 multiplies 64-bit words, which makes it four times as fast. Chosen as the program runs, so that it runs everywhere.
[[gnu::target("avx512f,avx512dq,prefer-vector-width=512")]] std::uint64_t sum_of_words_avx512(
    const unsigned char* bytes, std::uint64_t count, std::uint64_t first) {
  return sum_of_words(bytes, count, first);
}
bool has_avx512() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"); }
#endif

}  // namespace

std::uint64_t checksum_of_words(const void* words, std::int64_t count, std::int64_t first_index) {
  const auto* const bytes = static_cast<const unsigned char*>(words);
  const auto first = static_cast<std::uint64_t>(first_index), n = static_cast<std::uint64_t>(count);
#if defined(__x86_64__)
  static const bool is_wide = has_avx512();
  if (is_wide) return sum_of_words_avx512(bytes, n, first);
#endif
  return sum_of_words(bytes, n, first);
}

std::uint64_t checksum_of_bytes(std::span<const std::byte> bytes, std::int64_t first_byte) {
  assert(first_byte % 4 == 0);
  const auto whole = static_cast<std::int64_t>(bytes.size() / 4);
  std::uint64_t sum = checksum_of_words(bytes.data(), whole, first_byte / 4);
  if (const std::size_t rest = bytes.size() % 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + 4 * whole, rest);
    sum += checksum_of_words(&word, 1, first_byte / 4 + whole);
  }
  return sum;
}

std::string checksum_text(std::uint64_t checksum) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, checksum >>= 4)
    *digit = kDigits[checksum & 15];
  return text;
}

std::uint64_t parse_checksum(const std::string& text) {
  const auto value = kernels::number_of<std::uint64_t>(text, 16);
  if (!value || text.size() != 16)
    throw kernels::Error(kernels::Scope::rank, "'" + text + "' is not a checksum of 16 hexadecimal digits");
  return *value;
}

}  // namespace tenax::io
