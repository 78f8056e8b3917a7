#include "kernels/cpu/bf16_pairs.hpp"

#if defined(__x86_64__)
#include <algorithm>
#include <limits>

#include "kernels/deadline.hpp"
#endif

namespace tenax::kernels {

#if defined(__x86_64__)
namespace {

// Twelve sums that do not wait for each other, in zmm0 to zmm11; all numbers are zero.
#define TENAX_RATE_LOOP(instruction)                                                                   \
  asm volatile(                                                                                        \
      ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n\t"                                                     \
      "vpxord %%zmm\\r,%%zmm\\r,%%zmm\\r\n\t"                                                          \
      ".endr\n"                                                                                        \
      "1:\n\t"                                                                                         \
      ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\t" instruction                                               \
      " %%zmm12,%%zmm13,%%zmm\\r\n\t"                                                                  \
      ".endr\n\t"                                                                                      \
      "dec %0\n\t"                                                                                     \
      "jnz 1b\n\t"                                                                                     \
      "vzeroupper"                                                                                     \
      : "+r"(count)                                                                                    \
      :                                                                                                \
      : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
        "xmm11", "xmm12", "xmm13")

void multiply_pairs(long count) { TENAX_RATE_LOOP("vdpbf16ps"); }
void multiply_numbers(long count) { TENAX_RATE_LOOP("vfmadd231ps"); }

#undef TENAX_RATE_LOOP

double seconds_of(void (*loop)(long)) {
  constexpr long kCount = 1000;  // 2 to 10 us, far less than a turn on a shared core
  const double begin_s = steady_now_s();
  loop(kCount);
  return steady_now_s() - begin_s;
}

// In turn, so that whoever shares the core meets both; the first rounds warm its upper lanes up.
bool are_pairs_fast() {
  constexpr int kRounds = 16;
  // A pair's product takes as long as a number's, twice as long (as many numbers a second, read from half the memory), or, on
  // Emerald Rapids, four times. The bound lies between two and four, where no processor should be: all starts decide alike.
  constexpr double kMostTimes = 2.8;
  double pairs_s = std::numeric_limits<double>::infinity(), numbers_s = pairs_s;
  for (int round = 0; round < kRounds; ++round) {
    pairs_s = std::min(pairs_s, seconds_of(&multiply_pairs));
    numbers_s = std::min(numbers_s, seconds_of(&multiply_numbers));
  }
  return pairs_s < kMostTimes * numbers_s;
}

}  // namespace

bool has_bf16_pairs() { return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512bf16"); }

bool bf16_pairs_pay() {
  static const bool pay = has_bf16_pairs() && are_pairs_fast();
  return pay;
}
#else
bool has_bf16_pairs() { return false; }
bool bf16_pairs_pay() { return false; }
#endif

}  // namespace tenax::kernels
