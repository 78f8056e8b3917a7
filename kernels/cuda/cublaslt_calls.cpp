// The calls of cuBLASLt that this folder makes, under the library's own names, which load the library when one of them is first
// made. Linked as others are, its thousands of static constructors would take a tenth of a second of every process, GPU or not.
#include <cublasLt.h>

#include <string>

#include "kernels/shared_library.hpp"

namespace {

const tenax::kernels::SharedLibrary kCublasLt("cuBLASLt",
                                              "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR),
                                              TENAX_CUBLASLT_LIBRARY);

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { TENAX_CALL_IN(kCublasLt, cublasLtCreate, handle); }

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { TENAX_CALL_IN(kCublasLt, cublasLtDestroy, handle); }

const char* cublasLtGetStatusString(cublasStatus_t status) {
  TENAX_CALL_IN(kCublasLt, cublasLtGetStatusString, status);
}

std::size_t cublasLtGetVersion() { TENAX_CALL_IN(kCublasLt, cublasLtGetVersion); }

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, std::size_t bytes,
                                                 cudaDataType type, std::uint64_t rows, std::uint64_t columns,
                                                 std::int64_t ld) {
  TENAX_CALL_IN(kCublasLt, cublasLtMatrixLayoutInit_internal, layout, bytes, type, rows, columns, ld);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, std::size_t bytes,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  TENAX_CALL_IN(kCublasLt, cublasLtMatmulDescInit_internal, operation, bytes, compute, scale);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  TENAX_CALL_IN(kCublasLt, cublasLtMatmulDescSetAttribute, operation, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                     std::size_t bytes) {
  TENAX_CALL_IN(kCublasLt, cublasLtMatmulPreferenceInit_internal, preference, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  TENAX_CALL_IN(kCublasLt, cublasLtMatmulPreferenceSetAttribute, preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int count,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  TENAX_CALL_IN(kCublasLt, cublasLtMatmulAlgoGetHeuristic, handle, operation, a, b, c, d, preference, count,
                results, found);
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  TENAX_CALL_IN(kCublasLt, cublasLtMatmulAlgoCheck, handle, operation, a, b, c, d, algorithm, result);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, std::size_t bytes, std::size_t* written) {
  TENAX_CALL_IN(kCublasLt, cublasLtMatmulAlgoConfigGetAttribute, algorithm, attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  TENAX_CALL_IN(kCublasLt, cublasLtMatmul, handle, operation, alpha, a, a_layout, b, b_layout, beta, c,
                c_layout, d, d_layout, algorithm, workspace, workspace_bytes, stream);
}
