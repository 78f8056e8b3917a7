#include "kernels/cpu/matmul.hpp"

#include "kernels/cpu/matmul_fp64.hpp"
#include "kernels/cpu/matmul_onednn.hpp"

namespace tenax::kernels {
namespace {

// The operand as the product sees it: a transposed one is stored with its extents swapped.
MatrixView view_of(const Tensor& tensor, bool transposed) {
  const std::int64_t rows = tensor.rows(), columns = tensor.columns();
  return {tensor.data, tensor.dtype, transposed ? columns : rows, transposed ? rows : columns,
          columns,     transposed};
}

}  // namespace

struct CpuMatmul::Library {
  OneDnnProducts onednn;
};

CpuMatmul::CpuMatmul() : library_(std::make_unique<Library>()) {}
CpuMatmul::~CpuMatmul() = default;

void CpuMatmul::run(const MatmulArgs& args) {
  product(view_of(args.a, args.transpose_a), view_of(args.b, args.transpose_b), view_of(args.c, false),
          args.accumulate, args.bias.data);
}

void CpuMatmul::product(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                        const void* bias) {
  assert(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns && a.dtype == b.dtype);
  if (c.rows == 0 || c.columns == 0) return;
  if (a.dtype == DType::f64)
    multiply_fp64(a, b, c, accumulate, static_cast<const double*>(bias));
  else
    library_->onednn.run(a, b, c, accumulate, bias);
}

}  // namespace tenax::kernels
