// A fuzz target: one reader of what others write, given any bytes. A file of this folder named *_fuzz.cpp defines the
// functions below; linked to libFuzzer it runs for as long as one likes (run.sh), linked to replay.cpp it is a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/error.hpp"

/// libFuzzer's entry: tries one input, always returns 0. A crash, a hang, a sanitizer's report, an exception that leaves
/// it or a failed require() is a finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tenax::fuzz {

/// Valid inputs from which others are made, small ones: a few KiB.
std::vector<std::string> seeds();

/// Aborts with `claim` unless it holds.
inline void require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", claim);
  std::abort();
}

/// Whether `read` took its input; refusing it by an Error is no finding, any other exception is.
template <class Read>
bool accepts(const Read& read) {
  try {
    read();
    return true;
  } catch (const kernels::Error&) {
    return false;
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace tenax::fuzz
