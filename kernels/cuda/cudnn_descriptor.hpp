// cuDNN's backend descriptors, with owners. Only files named cudnn_* include cuDNN's headers.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "kernels/cuda/check.hpp"

namespace tenax::kernels::cuda {

/// The cuDNN attribute type of a C++ type.
template <class T>
constexpr cudnnBackendAttributeType_t cudnn_type_of() {
  if constexpr (std::is_same_v<T, std::int64_t>) return CUDNN_TYPE_INT64;
  if constexpr (std::is_same_v<T, bool>) return CUDNN_TYPE_BOOLEAN;
  if constexpr (std::is_same_v<T, void*>) return CUDNN_TYPE_VOID_PTR;
  if constexpr (std::is_same_v<T, char>) return CUDNN_TYPE_CHAR;
  if constexpr (std::is_same_v<T, cudnnHandle_t>) return CUDNN_TYPE_HANDLE;
  if constexpr (std::is_same_v<T, cudnnDataType_t>) return CUDNN_TYPE_DATA_TYPE;
  if constexpr (std::is_same_v<T, cudnnPointwiseMode_t>) return CUDNN_TYPE_POINTWISE_MODE;
  if constexpr (std::is_same_v<T, cudnnReduceTensorOp_t>) return CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
  if constexpr (std::is_same_v<T, cudnnBackendHeurMode_t>) return CUDNN_TYPE_HEUR_MODE;
  if constexpr (std::is_same_v<T, cudnnBackendNumericalNote_t>) return CUDNN_TYPE_NUMERICAL_NOTE;
}

class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t made = nullptr;
    TENAX_CUDNN_CHECK(cudnnBackendCreateDescriptor(type, &made));
    descriptor_.reset(made);
  }
  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

  template <class T>
  void set(cudnnBackendAttributeName_t name, const T& value) {
    TENAX_CUDNN_CHECK(cudnnBackendSetAttribute(get(), name, cudnn_type_of<T>(), 1, &value));
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, std::span<const T> values) {
    TENAX_CUDNN_CHECK(cudnnBackendSetAttribute(get(), name, cudnn_type_of<T>(),
                                               static_cast<std::int64_t>(values.size()), values.data()));
  }
  /// cuDNN's descriptors are void pointers, which cudnn_type_of() cannot tell from memory.
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
    const cudnnBackendDescriptor_t raw = other.get();
    set_descriptors(name, {&raw, 1});
  }
  void set_descriptors(cudnnBackendAttributeName_t name, std::span<const cudnnBackendDescriptor_t> others) {
    TENAX_CUDNN_CHECK(cudnnBackendSetAttribute(get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                               static_cast<std::int64_t>(others.size()), others.data()));
  }
  void finalize() { TENAX_CUDNN_CHECK(cudnnBackendFinalize(get())); }
  /// False where cuDNN refuses, for reasons that are not an error here.
  bool finalizes() { return cudnnBackendFinalize(get()) == CUDNN_STATUS_SUCCESS; }

 private:
  struct Destroy {
    void operator()(cudnnBackendDescriptor_t descriptor) const { cudnnBackendDestroyDescriptor(descriptor); }
  };
  std::unique_ptr<std::remove_pointer_t<cudnnBackendDescriptor_t>, Destroy> descriptor_;
};

}  // namespace tenax::kernels::cuda
