// AMX's registers as memory, and its instructions as loops, for processors without it (kernels/cpu/amx.hpp). What computes
// without a session fails.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tenax::kernels {

struct LoopRegisters {
  static constexpr int kRows = 16, kRowBytes = 64;
  using Register = std::array<std::array<std::uint32_t, kRowBytes / 4>, kRows>;

  class Session {
   public:
    Session() {
      assert(!open());
      open() = true;
    }
    ~Session() { open() = false; }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
  };

  template <int kRegister>
  static void load(const void* memory, std::ptrdiff_t stride) {
    for (int row = 0; row < kRows; ++row)
      std::memcpy(at(kRegister)[static_cast<std::size_t>(row)].data(),
                  static_cast<const std::byte*>(memory) + row * stride, kRowBytes);
  }
  template <int kRegister>
  static void store(void* memory, std::ptrdiff_t stride) {
    for (int row = 0; row < kRows; ++row)
      std::memcpy(static_cast<std::byte*>(memory) + row * stride,
                  at(kRegister)[static_cast<std::size_t>(row)].data(), kRowBytes);
  }
  template <int kRegister>
  static void zero() {
    at(kRegister) = {};
  }
  template <int kC, int kA, int kB>
  static void multiply_add() {
    for (std::size_t row = 0; row < kRows; ++row)
      for (std::size_t step = 0; step < kRowBytes / 4; ++step)
        for (std::size_t column = 0; column < kRowBytes / 4; ++column)
          add_pair(at(kA)[row][step], at(kB)[step][column], at(kC)[row][column]);
  }

 private:
  static bool& open() {
    static thread_local bool is_open = false;
    return is_open;
  }
  static Register& at(int index) {
    static thread_local std::array<Register, 8> registers;
    assert(open());
    return registers[static_cast<std::size_t>(index)];
  }
  static void add_pair(std::uint32_t a, std::uint32_t b, std::uint32_t& sum) {
    const auto lower = [](std::uint32_t pair) { return std::bit_cast<float>(pair << 16); };
    const auto upper = [](std::uint32_t pair) { return std::bit_cast<float>(pair & 0xFFFF0000u); };
    float c = std::bit_cast<float>(sum);
    c += lower(a) * lower(b);
    c += upper(a) * upper(b);
    sum = std::bit_cast<std::uint32_t>(c);
  }
};

}  // namespace tenax::kernels
