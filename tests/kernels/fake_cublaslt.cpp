#include "tests/kernels/fake_cublaslt.hpp"

#include <cublasLt.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/kernels/column_major.hpp"

namespace tenax::kernels::cuda::test {

FakeLibrary& FakeLibrary::instance() {
  static FakeLibrary library;
  return library;
}

namespace {

template <class T>
T attribute_of(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(operation, attribute, &value, sizeof value, &written),
            CUBLAS_STATUS_SUCCESS);
  return value;
}

template <class T>
T attribute_of(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute) {
  T value{};
  std::size_t written = 0;
  EXPECT_EQ(cublasLtMatrixLayoutGetAttribute(layout, attribute, &value, sizeof value, &written),
            CUBLAS_STATUS_SUCCESS);
  return value;
}

/// A stored column-major matrix.
struct Matrix {
  Matrix(const void* data, cublasLtMatrixLayout_t layout)
      : elements{data, type_of(attribute_of<std::uint32_t>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE))},
        rows(attribute_of<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS)),
        columns(attribute_of<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS)),
        ld(attribute_of<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_LD)) {
    EXPECT_GE(ld, rows);
  }
  static DType type_of(std::uint32_t type) {
    return type == CUDA_R_64F ? DType::f64 : type == CUDA_R_16BF ? DType::bf16 : DType::f32;
  }
  Elements elements;
  std::int64_t rows, columns, ld;
};

double scale_of(const void* scale, bool fp64) {
  return fp64 ? *static_cast<const double*>(scale) : static_cast<double>(*static_cast<const float*>(scale));
}

/// What the epilogue needs, in the library's words.
struct Finish {
  explicit Finish(cublasLtMatmulDesc_t operation, DType dtype)
      : kind(attribute_of<std::uint32_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE)),
        bias{attribute_of<const void*>(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER), dtype},
        aux{attribute_of<const void*>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER), dtype},
        ld_aux(attribute_of<std::int64_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD)) {}
  std::uint32_t kind;
  Elements bias, aux;
  std::int64_t ld_aux;
};

void finish(const Finish& f, const Matrix& d, std::int64_t i, std::int64_t j, double sum, bool late_aux) {
  const std::int64_t place = i + j * d.ld;
  if (f.kind & CUBLASLT_EPILOGUE_BIAS) sum += f.bias[i];
  if (f.kind == CUBLASLT_EPILOGUE_DGELU) {
    if (late_aux) d.elements.set(place, sum);
    sum *= gelu_slope(f.aux[i + j * f.ld_aux]);
  } else if (f.kind & CUBLASLT_EPILOGUE_GELU) {
    f.aux.set(i + j * f.ld_aux, sum);
    sum = gelu(sum);
  }
  d.elements.set(place, sum);
}

/// Column j of the product, each number summed over the inner indices in their order (or backwards). Memory is read in the order
/// in which it lies: the products of a search are large.
std::vector<double> column_of_product(const Matrix& a, bool transpose_a, const Matrix& b, bool transpose_b,
                                      std::int64_t j, std::int64_t rows, std::int64_t k, bool backwards) {
  const bool fp64 = a.elements.dtype == DType::f64;
  std::vector<double> sums(static_cast<std::size_t>(rows)), factors(static_cast<std::size_t>(k));
  for (std::int64_t l = 0; l < k; ++l)
    factors[static_cast<std::size_t>(l)] = b.elements[transpose_b ? j + l * b.ld : l + j * b.ld];
  const auto add = [&](std::int64_t i, std::int64_t step) {
    const std::int64_t l = backwards ? k - 1 - step : step;
    double& sum = sums[static_cast<std::size_t>(i)];
    const double product =
        a.elements[transpose_a ? l + i * a.ld : i + l * a.ld] * factors[static_cast<std::size_t>(l)];
    sum = fp64 ? sum + product : static_cast<double>(static_cast<float>(sum) + static_cast<float>(product));
  };
  if (transpose_a)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t step = 0; step < k; ++step) add(i, step);
  else
    for (std::int64_t step = 0; step < k; ++step)
      for (std::int64_t i = 0; i < rows; ++i) add(i, step);
  return sums;
}

}  // namespace
}  // namespace tenax::kernels::cuda::test

using namespace tenax::kernels::cuda::test;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(&FakeLibrary::instance());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int count,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  const FakeLibrary& library = FakeLibrary::instance();
  const auto epilogue = attribute_of<std::uint32_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE);
  if (epilogue != CUBLASLT_EPILOGUE_DEFAULT && !library.has_epilogues) return CUBLAS_STATUS_NOT_SUPPORTED;
  *returned = std::min(count, static_cast<int>(library.algorithms.size()));
  for (int i = 0; i < *returned; ++i) {
    results[i] = {};
    results[i].algo.data[0] = static_cast<std::uint64_t>(i);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t*, cublasLtMatmulHeuristicResult_t*) {
  return FakeLibrary::instance().admits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* A, cublasLtMatrixLayout_t a_layout, const void* B,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* C,
                              cublasLtMatrixLayout_t c_layout, void* D, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t) {
  FakeLibrary& library = FakeLibrary::instance();
  const FakeAlgorithm& how = library.algorithms.at(algorithm->data[0]);
  const Matrix a(A, a_layout), b(B, b_layout), c(C, c_layout), d(D, d_layout);
  const bool transpose_a = attribute_of<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_T;
  const bool transpose_b = attribute_of<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T;
  const std::int64_t k = transpose_a ? a.rows : a.columns;
  const bool fp64 = attribute_of<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_SCALE_TYPE) == CUDA_R_64F;
  EXPECT_EQ(transpose_a ? a.columns : a.rows, d.rows);
  EXPECT_EQ(transpose_b ? b.rows : b.columns, d.columns);
  EXPECT_EQ(transpose_b ? b.columns : b.rows, k);
  EXPECT_EQ(fp64, a.elements.dtype == tenax::kernels::DType::f64);
  EXPECT_TRUE(workspace != nullptr && workspace_bytes > 0);
  const Finish f(operation, d.elements.dtype);
  const std::int64_t columns = d.rows * d.columns * k > (1 << 20) ? 1 : d.columns;
  for (std::int64_t j = 0; j < columns; ++j) {
    const std::vector<double> products =
        column_of_product(a, transpose_a, b, transpose_b, j, d.rows, k, how.sums_backwards);
    for (std::int64_t i = 0; i < d.rows; ++i) {
      double sum = scale_of(alpha, fp64) * products[static_cast<std::size_t>(i)];
      if (scale_of(beta, fp64) != 0) sum += scale_of(beta, fp64) * c.elements[i + j * c.ld];
      finish(f, d, i, j, sum, how.reads_aux_after_writing);
    }
  }
  for (std::int64_t place = columns * d.ld; place < d.columns * d.ld; ++place) d.elements.set(place, 0);
  library.multiprocessors = attribute_of<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET);
  ++library.products;
  library.last_algorithm = static_cast<int>(algorithm->data[0]);
  library.clock_s += how.seconds;
  return CUBLAS_STATUS_SUCCESS;
}
