// The calls of cuDNN that this folder makes, under the library's own names, which load the library when one of them is first
// made.
#include <cudnn.h>

#include <string>

#include "kernels/shared_library.hpp"

namespace {

const tenax::kernels::SharedLibrary kCudnn("cuDNN", "libcudnn.so." + std::to_string(CUDNN_MAJOR),
                                           TENAX_CUDNN_LIBRARY);

}  // namespace

std::size_t cudnnGetVersion() { TENAX_CALL_IN(kCudnn, cudnnGetVersion); }

const char* cudnnGetErrorString(cudnnStatus_t status) { TENAX_CALL_IN(kCudnn, cudnnGetErrorString, status); }

void cudnnGetLastErrorString(char* message, std::size_t bytes) {
  TENAX_CALL_IN(kCudnn, cudnnGetLastErrorString, message, bytes);
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { TENAX_CALL_IN(kCudnn, cudnnCreate, handle); }

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { TENAX_CALL_IN(kCudnn, cudnnDestroy, handle); }

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  TENAX_CALL_IN(kCudnn, cudnnSetStream, handle, stream);
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  TENAX_CALL_IN(kCudnn, cudnnBackendCreateDescriptor, type, descriptor);
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  TENAX_CALL_IN(kCudnn, cudnnBackendDestroyDescriptor, descriptor);
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* values) {
  TENAX_CALL_IN(kCudnn, cudnnBackendSetAttribute, descriptor, name, type, count, values);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       std::int64_t room, std::int64_t* count, void* values) {
  TENAX_CALL_IN(kCudnn, cudnnBackendGetAttribute, descriptor, name, type, room, count, values);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  TENAX_CALL_IN(kCudnn, cudnnBackendFinalize, descriptor);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant_pack) {
  TENAX_CALL_IN(kCudnn, cudnnBackendExecute, handle, plan, variant_pack);
}
