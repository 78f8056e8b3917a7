// MatrixProducts: matrix products of one size, by which a device's speed is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/kernels.hpp"

namespace tenax::resilience {

/// Keeps its matrices, of random numbers, as long as it lives; none on a device without data.
class MatrixProducts {
 public:
  /// c = a · b, [n, n] each, of type `compute`, on `stream`. Runs the first one: the library prepares
  /// itself. Throws Error(rank) when there is no memory for them. `device` and `stream` must outlive
  /// this.
  MatrixProducts(kernels::Device& device, kernels::Stream& stream, kernels::DType compute, std::int64_t n);

  /// Of its matrices.
  static std::size_t bytes(kernels::DType compute, std::int64_t n) {
    return 3 * static_cast<std::size_t>(n * n) * bytes_of(compute);
  }
  /// Of one product.
  double flop() const;
  /// How long so many take in a row, in the device's own time, from now on.
  double seconds(int products);

 private:
  kernels::Device& device_;
  kernels::Stream& stream_;
  std::unique_ptr<kernels::Event> begin_, end_;
  std::int64_t n_;
  std::unique_ptr<kernels::Buffer> memory_;
  kernels::MatmulArgs args_;
};

}  // namespace tenax::resilience
