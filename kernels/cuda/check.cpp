#include "kernels/cuda/check.hpp"

#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>

#include <string>

#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

[[noreturn]] void fail(const std::string& library, const char* call, const std::string& why) {
  throw Error(Scope::rank, library + " failed on this rank's GPU: " + call + ": " + why);
}

}  // namespace

void throw_cuda(cudaError_t status, const char* call) {
  cudaGetLastError();  // what has been reported is not reported again by the next launch
  fail("CUDA", call, std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")");
}

void check_cublas(int status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail("cuBLASLt", call, cublasLtGetStatusString(static_cast<cublasStatus_t>(status)));
}

void check_cudnn(int status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char message[512] = "";
  cudnnGetLastErrorString(message, sizeof message);
  std::string why = cudnnGetErrorString(static_cast<cudnnStatus_t>(status));
  if (message[0] != '\0') why += std::string(" (") + message + ")";
  fail("cuDNN", call, why);
}

void check_driver(int status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  fail("The CUDA driver", call, "CUresult " + std::to_string(status));
}

void check_launch(const char* kernel) { check_cuda(cudaGetLastError(), kernel); }

}  // namespace tenax::kernels::cuda
