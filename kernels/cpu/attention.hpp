// Causal attention on the CPU, a block of query rows of one head at a time.
#pragma once

#include <memory>

#include "kernels/kernels.hpp"

namespace tenax::kernels {

/// Layouts and aliasing as in AttentionForwardArgs and AttentionBackwardArgs. Keeps scratch for one head
/// between calls. Belongs to one thread at a time.
class CpuAttention {
 public:
  CpuAttention();
  ~CpuAttention();
  CpuAttention(const CpuAttention&) = delete;
  CpuAttention& operator=(const CpuAttention&) = delete;

  void forward(const AttentionForwardArgs& args);
  void backward(const AttentionBackwardArgs& args);

 private:
  struct Workers;
  std::unique_ptr<Workers> workers_;
};

}  // namespace tenax::kernels
