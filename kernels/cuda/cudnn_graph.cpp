#include "kernels/cuda/cudnn_graph.hpp"

#include <utility>

namespace tenax::kernels::cuda {

CudnnLayout CudnnLayout::transposed() const {
  CudnnLayout other = *this;
  std::swap(other.extents[2], other.extents[3]);
  std::swap(other.strides[2], other.strides[3]);
  return other;
}

CudnnLayout CudnnLayout::packed(std::int64_t sequences, std::int64_t heads, std::int64_t rows,
                                std::int64_t columns) {
  return {{sequences, heads, rows, columns}, {heads * rows * columns, rows * columns, columns, 1}};
}

CudnnGraph::Id CudnnGraph::add_tensor(cudnnDataType_t type, const CudnnLayout& layout, bool is_virtual,
                                      bool by_value) {
  constexpr std::int64_t kAlignment_bytes = 16;
  const Id id = static_cast<Id>(tensors_.size()) + 1;
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(layout.extents));
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(layout.strides));
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment_bytes);
  if (is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  if (by_value) tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  tensor.finalize();
  tensors_.emplace(id, std::move(tensor));
  return id;
}

CudnnGraph::Id CudnnGraph::number() {
  return add_tensor(CUDNN_DATA_FLOAT, CudnnLayout::packed(1, 1, 1, 1), false, true);
}

CudnnDescriptor& CudnnGraph::add_operation(cudnnBackendDescriptorType_t type) {
  return operations_.emplace_back(type);
}

void CudnnGraph::matmul(Id a, Id b, Id c) {
  CudnnDescriptor& settings = settings_.emplace_back(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  settings.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  settings.finalize();
  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, at(a));
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, at(b));
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, at(c));
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, settings);
  operation.finalize();
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Id> inputs, Id y) {
  constexpr cudnnBackendAttributeName_t kInputs[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                     CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                     CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  CudnnDescriptor& settings = settings_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  settings.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  settings.set(CUDNN_ATTR_POINTWISE_MATH_PREC,
               mode == CUDNN_POINTWISE_CMP_GE ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT);
  settings.finalize();
  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, settings);
  for (std::size_t i = 0; i < inputs.size(); ++i) operation.set(kInputs[i], at(inputs.begin()[i]));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, at(y));
  operation.finalize();
}

void CudnnGraph::index(Id x, Id y, std::int64_t axis) {
  CudnnDescriptor& settings = settings_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  settings.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_GEN_INDEX);
  settings.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  settings.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  settings.finalize();
  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, settings);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, at(x));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, at(y));
  operation.finalize();
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t operator_, Id x, Id y) {
  CudnnDescriptor& settings = settings_.emplace_back(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  settings.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  settings.set(CUDNN_ATTR_REDUCTION_OPERATOR, operator_);
  settings.finalize();
  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, settings);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, at(x));
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, at(y));
  operation.finalize();
}

void CudnnGraph::reshape(Id x, Id y) {
  CudnnDescriptor& operation = add_operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, at(x));
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, at(y));
  operation.finalize();
}

CudnnDescriptor CudnnGraph::finish(cudnnHandle_t handle) const {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(operation.get());
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  if (handle) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.finalize();
  return graph;
}

}  // namespace tenax::kernels::cuda
