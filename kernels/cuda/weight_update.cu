#include "kernels/cuda/weight_update.hpp"

#include <cassert>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/kernel_loading.hpp"
#include "kernels/cuda/weight_update_body.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr int kUpdateThreads = static_cast<int>(kUpdateBlock) / kUpdateWidth;

template <class A>
__global__ void coefficients_kernel(const UpdateStep* step, UpdateCoefficients<A>* result) {
  *result = coefficients_of<A>(*step);
}

template <class Element, class T, class A>
__global__ void __launch_bounds__(kUpdateThreads)
    update_kernel(const __grid_constant__ UpdateTable<T> table, const UpdateCoefficients<A>* coefficients,
                  const UpdateRounding rounding) {
  update_block_of_table<Element>(DeviceGroup{}, table, *coefficients, rounding, blockIdx.x);
}

template <class Element, class T, class A = Accumulator<T>>
void launch(cudaStream_t stream, const UpdateArgs& args, const UpdateRounding& rounding) {
  std::vector<UpdatePiece<T>> pieces;
  for (const UpdateStretch& stretch : args.stretches) pieces.push_back(piece_of<Element, T>(stretch));
  const UpdateCoefficients<A>* const coefficients = coefficients_in<A>(args.coefficients);
  for_tables<UpdateTable<T>>(pieces, kUpdateBlock, [&](const UpdateTable<T>& table, std::uint32_t blocks) {
    update_kernel<Element, T, A><<<blocks, kUpdateThreads, 0, stream>>>(table, coefficients, rounding);
    check_launch(Element::kName);
  });
}

template <class Element>
void update(cudaStream_t stream, const UpdateArgs& args, const UpdateRounding& rounding) {
  if (args.stretches.empty()) return;
  const UpdateStretch& first = args.stretches.front();
  with_type(first.compute ? first.compute.dtype : first.master.dtype,
            [&](auto type) { launch<Element, decltype(type)>(stream, args, rounding); });
}

}  // namespace

void load_weight_update_kernels() {
  load(coefficients_kernel<float>, coefficients_kernel<double>);
  for_each_type([](auto type) {
    using T = decltype(type);
    load(update_kernel<AdamWElement, T, Accumulator<T>>, update_kernel<LionElement, T, Accumulator<T>>);
  });
}

void update_coefficients(cudaStream_t stream, const UpdateCoefficientsArgs& args) {
  if (args.coefficients.dtype == DType::f64)
    coefficients_kernel<<<1, 1, 0, stream>>>(args.step, coefficients_in<double>(args.coefficients));
  else
    coefficients_kernel<<<1, 1, 0, stream>>>(args.step, coefficients_in<float>(args.coefficients));
  check_launch("update_coefficients");
}

void adamw(cudaStream_t stream, const UpdateArgs& args, const UpdateRounding& rounding) {
  update<AdamWElement>(stream, args, rounding);
}

void lion(cudaStream_t stream, const UpdateArgs& args, const UpdateRounding& rounding) {
  update<LionElement>(stream, args, rounding);
}

}  // namespace tenax::kernels::cuda
