// Every kernel of this program is loaded before the first stream stands. The linker puts two calls of CUDA's runtime
// through here: the one by which a program tells of its kernels when it starts, and the one that loads one.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "kernels/cuda/kernel_loading.hpp"

namespace {

/// What the program has told: a kernel's mangled name by its function on the host.
std::map<const void*, std::string>& kernels_told() {
  static std::map<const void*, std::string> told;
  return told;
}

std::set<const void*>& kernels_loaded() {
  static std::set<const void*> loaded;
  return loaded;
}

/// A library's are loaded by its own calls, and the probe's by who asks whether the device runs any.
bool is_ours_to_load(const std::string& name) {
  return name.find("3cub") == std::string::npos && name.find("5probe") == std::string::npos;
}

}  // namespace

extern "C" {
void __real___cudaRegisterFunction(void** code, const char* function, char* name, const char* device_name,
                                   int threads, uint3* thread, uint3* block, dim3* threads_of_block,
                                   dim3* blocks, int* warp_size);
void __wrap___cudaRegisterFunction(void** code, const char* function, char* name, const char* device_name,
                                   int threads, uint3* thread, uint3* block, dim3* threads_of_block,
                                   dim3* blocks, int* warp_size) {
  kernels_told()[function] = device_name;
  __real___cudaRegisterFunction(code, function, name, device_name, threads, thread, block, threads_of_block,
                                blocks, warp_size);
}
cudaError_t __wrap_cudaFuncGetAttributes(cudaFuncAttributes*, const void* function) {
  kernels_loaded().insert(function);
  return cudaSuccess;
}
}

namespace tenax::kernels::cuda {
namespace {

TEST(CudaLoading, loads_every_kernel_of_this_program) {
  load_own_kernels();
  int ours = 0;
  for (const auto& [function, name] : kernels_told()) {
    if (!is_ours_to_load(name)) continue;
    ++ours;
    EXPECT_TRUE(kernels_loaded().contains(function)) << name;
  }
  EXPECT_GE(ours, 100);
}

}  // namespace
}  // namespace tenax::kernels::cuda
