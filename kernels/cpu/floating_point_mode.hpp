// How the processor treats denormal numbers.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tenax::kernels {

/// Makes this thread take denormal inputs for zero and round denormal results to zero: some processors need a
/// hundred cycles for each, and moments of dead units are full of them. Cheap when already set.
inline void flush_denormals() {
#if defined(__SSE2__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  const unsigned mode = _mm_getcsr();
  if ((mode & (kFlushToZero | kDenormalsAreZero)) != (kFlushToZero | kDenormalsAreZero))
    _mm_setcsr(mode | kFlushToZero | kDenormalsAreZero);
#endif
}

}  // namespace tenax::kernels
