// A 64-bit checksum that is a sum: anyone may compute its pieces, in any order, and add them up.
//
// With w_i the i-th 32-bit little-endian word, all arithmetic modulo 2^64:
//
//   checksum = sum over i of mix(i * 0x9E3779B97F4A7C15 xor w_i)
//   mix(x): x ^= x >> 30; x *= 0xBF58476D1CE4E5B9; x ^= x >> 27; x *= 0x94D049BB133111EB; x ^= x >> 31
//
// mix is the finalizer of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014), a bijection: a change within one word always changes the sum, any
// other goes unnoticed with probability 2^-64. Not cryptographic. In NumPy, for a float32 array a
// (sums and products wrap around):
//
//   x = numpy.arange(a.size, dtype='u8') * 0x9E3779B97F4A7C15 ^ a.ravel().view('<u4')
//   x ^= x >> 30; x *= 0xBF58476D1CE4E5B9; x ^= x >> 27; x *= 0x94D049BB133111EB; x ^= x >> 31; x.sum()
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenax::io {

/// The contribution of `count` words at `words`. The first one is word number `first_index` of the
/// whole.
std::uint64_t checksum_of_words(const void* words, std::int64_t count, std::int64_t first_index);
/// The contribution of `bytes`, which start at byte `first_byte` (a multiple of 4) of the whole.
/// Zero bytes fill up the last word.
std::uint64_t checksum_of_bytes(std::span<const std::byte> bytes, std::int64_t first_byte);

/// Writes a checksum as 16 hexadecimal digits, and reads it. Throws kernels::Error(rank) at any
/// other text.
std::string checksum_text(std::uint64_t checksum);
std::uint64_t parse_checksum(const std::string& text);

}  // namespace tenax::io
