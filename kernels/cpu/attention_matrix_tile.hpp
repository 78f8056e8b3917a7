// Attention's products by registers that hold matrices, as Intel's AMX has them: eight of 16 rows of 64 bytes. They take bf16
// pairs as attention_tile.hpp lays them out: a as [row][step], b as [step][column], c in fp32.
#pragma once

#include <utility>

#include "kernels/cpu/attention_pack.hpp"

namespace tenax::kernels {

/// The tile type of bf16. `Registers` computes: AmxRegisters, or loops in their place for tests on other processors. Its
/// functions name registers at compile time: load<r>(memory, stride in bytes), store<r>, zero<r>, and multiply_add<c, a, b>.
template <class Registers>
struct MatrixTile {
  using Real = float;
  using Unit = std::uint32_t;
  static constexpr int kNumbersPerUnit = 2;
  static constexpr int kLanes = 16;
  static constexpr int kSteps = 16;
  static constexpr int kBlock = 64, kQueries = 64, kStair = 16, kScoreVectors = 4;
  static constexpr int kSpare = 32;  // whole steps of a tile; and rows begin at cache lines
  using Session = typename Registers::Session;

  /// c[16, V · 16] (+)= a · b over whole kSteps. A transposed a is turned over first, sixteen steps at a time.
  template <int V, bool kTransposedA>
  static void multiply_tile(const TileProduct<MatrixTile>& p) {
    multiply_tile<kTransposedA>(p, std::make_integer_sequence<int, V>());
  }

 private:
  static constexpr int kA = 4, kB = 5, kRegistersOfB = 3;  // registers 0 to 3 hold c

  template <bool kTransposedA, int... v>
  static void multiply_tile(const TileProduct<MatrixTile>& p, std::integer_sequence<int, v...>) {
    const std::ptrdiff_t c_bytes = p.c_stride * static_cast<std::ptrdiff_t>(sizeof(Real));
    const std::ptrdiff_t b_bytes = p.b_stride * static_cast<std::ptrdiff_t>(sizeof(Unit));
    (begin<v>(p.add ? p.c + v * kLanes : nullptr, c_bytes), ...);
    for (std::ptrdiff_t k = 0; k < p.steps; k += kSteps) {
      load_a<kTransposedA>(p, k);
      (multiply_add<v>(p.b + k * p.b_stride + v * kLanes, b_bytes), ...);
    }
    (Registers::template store<v>(p.c + v * kLanes, c_bytes), ...);
  }

  template <int kC>
  static void begin(const Real* c, std::ptrdiff_t bytes) {
    if (c)
      Registers::template load<kC>(c, bytes);
    else
      Registers::template zero<kC>();
  }

  template <bool kTransposedA>
  static void load_a(const TileProduct<MatrixTile>& p, std::ptrdiff_t step) {
    constexpr std::ptrdiff_t kUnitBytes = sizeof(Unit);
    if constexpr (kTransposedA) {
      alignas(64) Unit rows[kLanes * kSteps];
      transpose_square<MatrixTile>(p.a + step * p.a_stride, p.a_stride, rows, kSteps);
      Registers::template load<kA>(rows, kSteps * kUnitBytes);
    } else {
      Registers::template load<kA>(p.a + step, p.a_stride * kUnitBytes);
    }
  }

  template <int kC>
  static void multiply_add(const Unit* b, std::ptrdiff_t bytes) {
    constexpr int kFree = kB + kC % kRegistersOfB;
    Registers::template load<kFree>(b, bytes);
    Registers::template multiply_add<kC, kA, kFree>();
  }
};

}  // namespace tenax::kernels
