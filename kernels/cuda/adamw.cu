#include "kernels/cuda/adamw.hpp"

#include <cassert>
#include <vector>

#include "kernels/cuda/adamw_body.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"

namespace tenax::kernels::cuda {
namespace {

constexpr int kThreads = static_cast<int>(kAdamWBlock) / kAdamWWidth;

template <class A>
__global__ void coefficients_kernel(const AdamWStep* step, AdamWCoefficients<A>* result) {
  *result = coefficients_of<A>(*step);
}

template <class T, class A>
__global__ void __launch_bounds__(kThreads)
    adamw_kernel(const __grid_constant__ AdamWTable<T> table, const AdamWCoefficients<A>* coefficients,
                 const AdamWRounding rounding) {
  adamw_block(DeviceGroup{}, table, *coefficients, rounding, blockIdx.x);
}

template <class T, class A = Accumulator<T>>
void launch(cudaStream_t stream, const AdamWArgs& args, const AdamWRounding& rounding) {
  std::vector<AdamWPiece<T>> pieces;
  for (const AdamWStretch& stretch : args.stretches) pieces.push_back(piece_of<T>(stretch));
  const AdamWCoefficients<A>* const coefficients = coefficients_in<A>(args.coefficients);
  for_tables<AdamWTable<T>>(pieces, kAdamWBlock, [&](const AdamWTable<T>& table, std::uint32_t blocks) {
    adamw_kernel<T, A><<<blocks, kThreads, 0, stream>>>(table, coefficients, rounding);
    check_launch("adamw");
  });
}

}  // namespace

void adamw_coefficients(cudaStream_t stream, const AdamWCoefficientsArgs& args) {
  if (args.coefficients.dtype == DType::f64)
    coefficients_kernel<<<1, 1, 0, stream>>>(args.step, coefficients_in<double>(args.coefficients));
  else
    coefficients_kernel<<<1, 1, 0, stream>>>(args.step, coefficients_in<float>(args.coefficients));
  check_launch("adamw_coefficients");
}

void adamw(cudaStream_t stream, const AdamWArgs& args, const AdamWRounding& rounding) {
  if (args.stretches.empty()) return;
  const AdamWStretch& first = args.stretches.front();
  with_type(first.compute ? first.compute.dtype : first.master.dtype,
            [&](auto type) { launch<decltype(type)>(stream, args, rounding); });
}

}  // namespace tenax::kernels::cuda
