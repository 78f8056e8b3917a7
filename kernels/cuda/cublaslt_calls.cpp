// The calls of cuBLASLt that this folder makes, under the library's own names, which load the library when one of them is first
// made. Linked as others are, its thousands of static constructors would take a tenth of a second of every process, GPU or not.
#include <cublasLt.h>
#include <dlfcn.h>

#include <string>

#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

/// Where the environment, this program's RUNPATH or the system say, else where the build has found it.
void* load() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  for (const std::string& file : {name, std::string(TENAX_CUBLASLT_LIBRARY)})
    if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  throw Error(Scope::rank, "cannot load cuBLASLt (" + std::string(dlerror()) +
                               "): name its folder in LD_LIBRARY_PATH, or set device.kind = \"cpu\"");
}

template <class Function>
Function find(const char* name) {
  void* const library = load();  // once more than needed does no harm: it is counted
  if (void* const symbol = dlsym(library, name)) return reinterpret_cast<Function>(symbol);
  throw Error(Scope::rank, std::string("the cuBLASLt of this machine has no ") + name +
                               ": install the one of this build, or set device.kind = \"cpu\"");
}

}  // namespace
}  // namespace tenax::kernels::cuda

#define TENAX_CUBLASLT(name, ...)                                                \
  static const auto call = ::tenax::kernels::cuda::find<decltype(&name)>(#name); \
  return call(__VA_ARGS__)

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { TENAX_CUBLASLT(cublasLtCreate, handle); }

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { TENAX_CUBLASLT(cublasLtDestroy, handle); }

const char* cublasLtGetStatusString(cublasStatus_t status) {
  TENAX_CUBLASLT(cublasLtGetStatusString, status);
}

std::size_t cublasLtGetVersion() { TENAX_CUBLASLT(cublasLtGetVersion); }

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, std::size_t bytes,
                                                 cudaDataType type, std::uint64_t rows, std::uint64_t columns,
                                                 std::int64_t ld) {
  TENAX_CUBLASLT(cublasLtMatrixLayoutInit_internal, layout, bytes, type, rows, columns, ld);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, std::size_t bytes,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  TENAX_CUBLASLT(cublasLtMatmulDescInit_internal, operation, bytes, compute, scale);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  TENAX_CUBLASLT(cublasLtMatmulDescSetAttribute, operation, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                     std::size_t bytes) {
  TENAX_CUBLASLT(cublasLtMatmulPreferenceInit_internal, preference, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  TENAX_CUBLASLT(cublasLtMatmulPreferenceSetAttribute, preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int count,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  TENAX_CUBLASLT(cublasLtMatmulAlgoGetHeuristic, handle, operation, a, b, c, d, preference, count, results,
                 found);
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  TENAX_CUBLASLT(cublasLtMatmulAlgoCheck, handle, operation, a, b, c, d, algorithm, result);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, std::size_t bytes, std::size_t* written) {
  TENAX_CUBLASLT(cublasLtMatmulAlgoConfigGetAttribute, algorithm, attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  TENAX_CUBLASLT(cublasLtMatmul, handle, operation, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
                 d_layout, algorithm, workspace, workspace_bytes, stream);
}
