// Every call of cuDNN that is made finds the library, GPU or not.
#include <cudnn.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace {

bool is_loaded() {
  const std::string name = "libcudnn.so." + std::to_string(CUDNN_MAJOR);
  void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != nullptr;
}

TEST(Cudnn, is_loaded_by_the_first_call_and_not_before) {
  EXPECT_FALSE(is_loaded());
  EXPECT_EQ(cudnnGetVersion() / 10000, static_cast<std::size_t>(CUDNN_MAJOR));
  EXPECT_TRUE(is_loaded());
}

TEST(Cudnn, makes_and_asks_descriptors) {
  cudnnBackendDescriptor_t tensor = nullptr;
  ASSERT_EQ(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor), CUDNN_STATUS_SUCCESS);
  const std::int64_t number = 7;
  EXPECT_EQ(cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number),
            CUDNN_STATUS_SUCCESS);
  EXPECT_NE(cudnnBackendFinalize(tensor), CUDNN_STATUS_SUCCESS) << "it has no extents";
  char message[256] = "";
  cudnnGetLastErrorString(message, sizeof message);
  EXPECT_STRNE(message, "");
  EXPECT_EQ(cudnnBackendDestroyDescriptor(tensor), CUDNN_STATUS_SUCCESS);
}

TEST(Cudnn, tells_what_a_status_means) {
  cudnnHandle_t handle = nullptr;
  const cudnnStatus_t status = cudnnCreate(&handle);  // fails without a GPU
  EXPECT_STRNE(cudnnGetErrorString(status), "");
  if (status != CUDNN_STATUS_SUCCESS) GTEST_SKIP() << "no GPU";
  EXPECT_EQ(cudnnDestroy(handle), CUDNN_STATUS_SUCCESS);
}

}  // namespace
