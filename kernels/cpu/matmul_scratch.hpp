// ScratchArray: aligned numbers that grow on demand and never shrink.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace tenax::kernels {

/// Aligned to a cache line. Growing discards the content; new content is zero.
template <class T>
class ScratchArray {
 public:
  void reserve(std::ptrdiff_t count) {
    if (count <= count_) return;
    numbers_.reset();
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    numbers_.reset(static_cast<T*>(::operator new[](bytes, kAlignment)));
    std::memset(numbers_.get(), 0, bytes);
    count_ = count;
  }
  T* data() const { return numbers_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(T* numbers) const { ::operator delete[](numbers, kAlignment); }
  };
  std::unique_ptr<T[], Delete> numbers_;
  std::ptrdiff_t count_ = 0;
};

}  // namespace tenax::kernels
