// Intel's AMX: eight registers that hold matrices of 16 rows of 64 bytes, and the product of two of bf16 pairs.
//
// The instructions are written as assembly: GCC 12's functions for them do not say that memory is read and written. Source: Intel
// Architecture Instruction Set Extensions Programming Reference, chapter "Intel AMX Instruction Set Reference".
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenax::kernels {

/// True where the processor has AMX with bf16, the kernel lets this process use it (it is asked for that at the first call), and
/// a small product is right. Thread rule: any thread.
bool amx_runs_here();

#if defined(__x86_64__)
/// What MatrixTile computes with. Only where amx_runs_here(), and while the thread has a Session.
struct AmxRegisters {
  /// All eight registers have their full size while it exists. The thread's registers are the kernel's to save only meanwhile.
  class Session {
   public:
    Session() {
      static constexpr Layout kLayout{};
      asm volatile("ldtilecfg %0" : : "m"(kLayout));
    }
    ~Session() { asm volatile("tilerelease" : : : "memory"); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

   private:
    struct alignas(64) Layout {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    static_assert(sizeof(Layout) == 64);
  };

  template <int kRegister>
  static void load(const void* memory, std::ptrdiff_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(memory), "r"(stride), "i"(kRegister) : "memory");
  }
  template <int kRegister>
  static void store(void* memory, std::ptrdiff_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(memory), "r"(stride), "i"(kRegister) : "memory");
  }
  template <int kRegister>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kRegister));
  }
  /// c (fp32) += a · b: of each pair the first numbers' product, then the second ones'.
  template <int kC, int kA, int kB>
  static void multiply_add() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
  }
};
#endif

}  // namespace tenax::kernels
