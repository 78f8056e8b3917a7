#include "kernels/cpu/amx.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "kernels/tensor.hpp"
#endif

namespace tenax::kernels {

#if defined(__x86_64__)
namespace {

constexpr int kTileRows = 16, kTilePairs = 16;

bool processor_has_it() {
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;  // of leaf 7
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kBf16) && (d & kTiles);
}

/// The registers are saved for processes alone that asked for it (Linux 5.16, Documentation/arch/x86/xstate.rst).
bool kernel_allows_it() {
  constexpr int kAskForFeature = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, kAskForFeature, kTileData) == 0;
}

/// Small whole numbers, which every order of sums adds up alike.
float number(int row, int column) { return static_cast<float>((5 * row + 3 * column) % 7 - 3); }
bf16_t narrow_number(int row, int column) { return to_bf16(number(row, column)); }

float expected(int row, int column) {
  float sum = number(column, row);  // of what was there
  for (int k = 0; k < 2 * kTilePairs; ++k) sum += number(row, k) * number(k, column);
  return sum;
}

bool small_product_is_right() {
  alignas(64) std::array<bf16_t, kTileRows * 2 * kTilePairs> a, b;
  alignas(64) std::array<float, kTileRows * kTileRows> c;
  for (int i = 0; i < kTileRows; ++i)
    for (int k = 0; k < 2 * kTilePairs; ++k) {
      a[static_cast<std::size_t>(i * 2 * kTilePairs + k)] = narrow_number(i, k);
      b[static_cast<std::size_t>(k / 2 * 2 * kTilePairs + 2 * i + k % 2)] = narrow_number(k, i);
    }
  for (int i = 0; i < kTileRows; ++i)
    for (int j = 0; j < kTileRows; ++j) c[static_cast<std::size_t>(i * kTileRows + j)] = number(j, i);
  {
    constexpr std::ptrdiff_t kRowBytes = 64;
    const AmxRegisters::Session session;
    AmxRegisters::load<0>(c.data(), kRowBytes);
    AmxRegisters::load<4>(a.data(), kRowBytes);
    AmxRegisters::load<5>(b.data(), kRowBytes);
    AmxRegisters::multiply_add<0, 4, 5>();
    AmxRegisters::store<0>(c.data(), kRowBytes);
  }
  for (int i = 0; i < kTileRows; ++i)
    for (int j = 0; j < kTileRows; ++j)
      if (c[static_cast<std::size_t>(i * kTileRows + j)] != expected(i, j)) return false;
  return true;
}

}  // namespace

bool amx_runs_here() {
  static const bool runs = processor_has_it() && kernel_allows_it() && small_product_is_right();
  return runs;
}
#else
bool amx_runs_here() { return false; }
#endif

}  // namespace tenax::kernels
