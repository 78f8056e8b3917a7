// Causal attention on the CPU, a block of query rows of one head at a time.
#pragma once

#include <memory>

#include "kernels/kernels.hpp"

namespace tenax::kernels {

/// Layouts and aliasing as in AttentionForwardArgs and AttentionBackwardArgs. Keeps scratch for one head
/// between calls. Belongs to one thread at a time.
class CpuAttention {
 public:
  virtual ~CpuAttention() = default;
  virtual void forward(const AttentionForwardArgs& args) = 0;
  virtual void backward(const AttentionBackwardArgs& args) = 0;
};

/// One of the caller's own set of loops; others ask cpu_loops() for one.
std::unique_ptr<CpuAttention> create_attention_loops();

}  // namespace tenax::kernels
