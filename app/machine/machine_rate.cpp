#include "app/machine/machine_rate.hpp"

#include <algorithm>
#include <memory>

#include "kernels/deadline.hpp"
#include "resilience/diagnosis/matrix_products.hpp"

namespace tenax::app {

using resilience::MatrixProducts;

namespace {

/// A rank that waited for its processor looks slow once, and not three times.
double shortest_s(MatrixProducts& products) {
  double shortest = products.seconds(1);
  for (int again = 0; again < 2; ++again) shortest = std::min(shortest, products.seconds(1));
  return shortest;
}

}  // namespace

double measure_matmul_rate(kernels::Device& device, kernels::DType compute) {
  constexpr std::int64_t kLeast = 64, kTiny = 192, kSmall = 768, kLarge = 8192;
  constexpr double kBudget_s = 0.1, kShort_s = 1e-3, kSlow_s = 20e-3;
  const auto stream = device.create_stream();
  stream->use_threads(device.threads());
  auto products = std::make_unique<MatrixProducts>(device, *stream, compute, kLeast);
  // An emulated processor takes seconds for the next, and more for the one after.
  if (const double least_s = shortest_s(*products); least_s > kSlow_s) return products->flop() / least_s;
  products = std::make_unique<MatrixProducts>(device, *stream, compute, kTiny);
  int at_once = 1;
  if (shortest_s(*products) < kSlow_s) {
    products = std::make_unique<MatrixProducts>(device, *stream, compute, kSmall);
    // A GPU: only large products fill it, and only several in a row hide the launch. (Its stand-in is a CPU.)
    if (device.is_asynchronous() && shortest_s(*products) < kShort_s) {
      products = std::make_unique<MatrixProducts>(device, *stream, compute, kLarge);
      at_once = 5;
    }
  }
  double best = 0;
  for (const double start_s = kernels::steady_now_s(); kernels::steady_now_s() - start_s < kBudget_s;)
    best = std::max(best, at_once * products->flop() / products->seconds(at_once));
  return best;
}

}  // namespace tenax::app
