#include "kernels/cuda/matmul_call.hpp"

#include <algorithm>

#include "kernels/cuda/check.hpp"

namespace tenax::kernels::cuda {
namespace {

cudaDataType_t library_type(DType dtype) {
  return dtype == DType::f64 ? CUDA_R_64F : dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasLtEpilogue_t library_epilogue(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::none:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case Epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX;
    case Epilogue::bias_gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case Epilogue::d_gelu:
      return CUBLASLT_EPILOGUE_DGELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

template <class T>
void set(cublasLtMatmulDescOpaque_t& operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  TENAX_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(&operation, attribute, &value, sizeof value));
}

template <class T>
void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value) {
  TENAX_CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value));
}

/// A stored matrix: transposed operands are stored with their extents swapped.
void describe(cublasLtMatrixLayoutOpaque_t& layout, DType dtype, std::int64_t rows, std::int64_t columns,
              bool transposed, std::int64_t leading_dimension) {
  if (transposed) std::swap(rows, columns);
  TENAX_CUBLAS_CHECK(cublasLtMatrixLayoutInit(&layout, library_type(dtype), static_cast<std::uint64_t>(rows),
                                              static_cast<std::uint64_t>(columns), leading_dimension));
}

cublasLtMatmulPreferenceOpaque_t preference_for(const MatmulOperands& operands) {
  cublasLtMatmulPreferenceOpaque_t preference;
  TENAX_CUBLAS_CHECK(cublasLtMatmulPreferenceInit(&preference));
  const std::uint64_t workspace_bytes = kMatmulWorkspace_bytes;
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(operands.a));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(operands.b));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(operands.d));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(operands.d));
  return preference;
}

}  // namespace

MatmulCall::MatmulCall(const MatmulPlan& plan, const MatmulOperands& operands)
    : plan_(plan), operands_(operands) {
  // Plain COMPUTE_32F: fp32 inputs are multiplied as fp32, never as TF32.
  const bool fp64 = plan.input == DType::f64;
  TENAX_CUBLAS_CHECK(cublasLtMatmulDescInit(&operation_, fp64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                            fp64 ? CUDA_R_64F : CUDA_R_32F));
  const std::int32_t as_stored = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
  set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, plan.transpose_a ? transposed : as_stored);
  set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, plan.transpose_b ? transposed : as_stored);
  if (plan.multiprocessors > 0) {
    const std::int32_t target = plan.multiprocessors;
    set(operation_, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, target);
  }
  describe_epilogue();
  describe(a_, plan.input, plan.m, plan.k, plan.transpose_a, plan.ld_a);
  describe(b_, plan.input, plan.k, plan.n, plan.transpose_b, plan.ld_b);
  describe(d_, plan.output, plan.m, plan.n, false, plan.ld_d);
}

void MatmulCall::describe_epilogue() {
  const auto epilogue = static_cast<std::uint32_t>(library_epilogue(plan_.epilogue));
  set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (has_bias(plan_.epilogue)) set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands_.bias);
  if (!has_aux(plan_.epilogue)) return;
  set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands_.aux);
  set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, plan_.ld_d);
}

std::vector<cublasLtMatmulHeuristicResult_t> MatmulCall::algorithms(cublasLtHandle_t handle, int count) {
  cublasLtMatmulPreferenceOpaque_t preference = preference_for(operands_);
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(count));
  int returned = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, &operation_, &a_, &b_, &d_, &d_,
                                                               &preference, count, found.data(), &returned);
  // How it says that there is no such algorithm.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
  check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
  found.resize(static_cast<std::size_t>(returned));
  std::erase_if(found, [](const cublasLtMatmulHeuristicResult_t& result) {
    return result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kMatmulWorkspace_bytes;
  });
  return found;
}

bool MatmulCall::admits(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm) {
  cublasLtMatmulHeuristicResult_t result{};
  return cublasLtMatmulAlgoCheck(handle, &operation_, &a_, &b_, &d_, &d_, &algorithm, &result) ==
             CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= kMatmulWorkspace_bytes;
}

cublasStatus_t MatmulCall::run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm,
                               void* workspace, cudaStream_t stream) {
  // In the scale type: double for fp64, else float. Where beta is 0, what d held is not read.
  const double one = 1, beta = plan_.accumulate ? 1 : 0;
  const float one_fp32 = 1, beta_fp32 = plan_.accumulate ? 1 : 0;
  const bool fp64 = plan_.input == DType::f64;
  const void* const alpha = fp64 ? static_cast<const void*>(&one) : &one_fp32;
  const void* const scale_of_d = fp64 ? static_cast<const void*>(&beta) : &beta_fp32;
  return cublasLtMatmul(handle, &operation_, alpha, operands_.a, &a_, operands_.b, &b_, scale_of_d,
                        operands_.d, &d_, operands_.d, &d_, &algorithm, workspace, kMatmulWorkspace_bytes,
                        stream);
}

}  // namespace tenax::kernels::cuda
