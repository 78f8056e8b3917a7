// Every call of cuBLASLt that is made finds the library, GPU or not.
#include <cublasLt.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace {

bool is_loaded() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != nullptr;
}

TEST(CublasLt, is_loaded_by_the_first_call_and_not_before) {
  EXPECT_FALSE(is_loaded());
  EXPECT_EQ(cublasLtGetVersion() / 10000, static_cast<std::size_t>(CUBLAS_VER_MAJOR));
  EXPECT_TRUE(is_loaded());
}

TEST(CublasLt, describes_products) {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t layout;
  cublasLtMatmulPreferenceOpaque_t preference;
  const std::int32_t transposed = CUBLAS_OP_T;
  const std::uint64_t bytes = 4096;
  EXPECT_EQ(cublasLtMatmulDescInit(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(
      cublasLtMatmulDescSetAttribute(&operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatrixLayoutInit(&layout, CUDA_R_32F, 4, 8, 4), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulPreferenceInit(&preference), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                 &bytes, sizeof bytes),
            CUBLAS_STATUS_SUCCESS);
}

TEST(CublasLt, tells_what_a_status_means) {
  cublasLtHandle_t handle = nullptr;
  const cublasStatus_t status = cublasLtCreate(&handle);  // fails without a GPU
  EXPECT_NE(std::string(cublasLtGetStatusString(status)), "");
  if (status != CUBLAS_STATUS_SUCCESS) GTEST_SKIP() << "no GPU";
  EXPECT_EQ(cublasLtDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

}  // namespace
