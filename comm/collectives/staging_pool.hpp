// StagingPool: memory for messages on their way in, kept for the next collective.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "comm/host_staging.hpp"
#include "kernels/device.hpp"

namespace tenax::comm {

/// Used by one thread. Outlives the loans it gives.
class StagingPool {
 public:
  explicit StagingPool(kernels::Device& device) : device_(device) {}

  /// A buffer on loan; its destructor gives it back.
  class Loan {
   public:
    Loan() = default;
    Loan(StagingPool& pool, std::unique_ptr<kernels::Buffer> buffer)
        : pool_(&pool), buffer_(std::move(buffer)) {}
    Loan(Loan&& other) noexcept = default;
    Loan& operator=(Loan&& other) noexcept {
      give_back();
      pool_ = other.pool_;
      buffer_ = std::move(other.buffer_);
      return *this;
    }
    ~Loan() { give_back(); }
    kernels::Buffer& operator*() const { return *buffer_; }
    kernels::Buffer* operator->() const { return buffer_.get(); }

   private:
    void give_back() {
      if (buffer_) pool_->free_.push_back(std::move(buffer_));
    }
    StagingPool* pool_ = nullptr;
    std::unique_ptr<kernels::Buffer> buffer_;
  };

  /// At least `bytes`: the smallest free buffer that is large enough, else a new one.
  Loan borrow(std::size_t bytes) {
    const auto bytes_of = [](const auto& buffer) { return buffer->bytes(); };
    if (auto free = take_best_fit(free_, bytes, bytes_of)) return {*this, std::move(*free)};
    return {*this, device_.allocate(std::max<std::size_t>(bytes, 64), kernels::MemoryKind::pinned_host)};
  }

 private:
  kernels::Device& device_;
  std::vector<std::unique_ptr<kernels::Buffer>> free_;
};

}  // namespace tenax::comm
