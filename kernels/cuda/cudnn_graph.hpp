// A graph of operations as cuDNN's backend takes it, and the plan that cuDNN makes for it.
//
// Written from the backend's documentation and, for which patterns its engines know, from what NVIDIA's
// cudnn-frontend (MIT) builds: the order and the types of operations are as there.
#pragma once

#include <array>
#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn_descriptor.hpp"

namespace tenax::kernels::cuda {

/// Where a tensor's elements lie: [sequences, heads, rows, columns].
struct CudnnLayout {
  std::array<std::int64_t, 4> extents, strides;
  /// The last two axes exchanged.
  CudnnLayout transposed() const;
  /// [sequences, heads, rows, columns] without gaps.
  static CudnnLayout packed(std::int64_t sequences, std::int64_t heads, std::int64_t rows,
                            std::int64_t columns);
};

/// Builds a graph. Tensors go by numbers; all of an operation's tensors have to exist before it. Throws
/// Error(rank) where cuDNN refuses an operation.
class CudnnGraph {
 public:
  using Id = std::int64_t;

  /// Memory that each execution names.
  Id tensor(cudnnDataType_t type, const CudnnLayout& layout) {
    return add_tensor(type, layout, false, false);
  }
  /// What the engine keeps to itself.
  Id intermediate(cudnnDataType_t type, const CudnnLayout& layout) {
    return add_tensor(type, layout, true, false);
  }
  /// A float that each execution gives in host memory.
  Id number();

  void matmul(Id a, Id b, Id c);
  /// y = mode(inputs): x, then b, then the one that selects.
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Id> inputs, Id y);
  /// y = the index along `axis`.
  void index(Id x, Id y, std::int64_t axis);
  void reduce(cudnnReduceTensorOp_t operation, Id x, Id y);
  /// y is x seen through another layout.
  void reshape(Id x, Id y);

  /// What an execution plan is made from. Without a handle it is checked as far as it does not depend
  /// on the device.
  CudnnDescriptor finish(cudnnHandle_t handle) const;

 private:
  Id add_tensor(cudnnDataType_t type, const CudnnLayout& layout, bool is_virtual, bool by_value);
  CudnnDescriptor& add_operation(cudnnBackendDescriptorType_t type);
  const CudnnDescriptor& at(Id id) const { return tensors_.at(id); }

  std::map<Id, CudnnDescriptor> tensors_;
  std::deque<CudnnDescriptor> settings_, operations_;
};

/// Thread rule: one thread at a time, as its handle.
class CudnnPlan {
 public:
  /// cuDNN's suggestions that it can carry out, best first by its estimate, at most `count`; if `deterministic`
  /// only those whose engines say to give the same bits always.
  static std::vector<CudnnPlan> find(cudnnHandle_t handle, const CudnnGraph& graph, bool deterministic,
                                     std::size_t count);

  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  /// "suggestion 2, engine 7": the same in every process with the same version of cuDNN on such a GPU.
  const std::string& name() const { return name_; }
  /// On the handle's stream. Memory by the tensors' numbers; that of number() is host memory, read before
  /// this returns.
  void execute(cudnnHandle_t handle, const std::map<CudnnGraph::Id, void*>& memory, void* workspace) const;

 private:
  CudnnPlan(CudnnDescriptor plan, std::int64_t workspace_bytes, std::string name)
      : plan_(std::move(plan)), workspace_bytes_(workspace_bytes), name_(std::move(name)) {}
  CudnnDescriptor plan_;
  std::int64_t workspace_bytes_;
  std::string name_;
};

}  // namespace tenax::kernels::cuda
