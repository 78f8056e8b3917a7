// Causal attention on the CPU: members of a team take a head each, of which a block of query rows at a time.
#pragma once

#include <memory>

#include "kernels/cpu/thread_team.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels {

/// Layouts and aliasing as in AttentionForwardArgs and AttentionBackwardArgs. Keeps scratch for one head
/// of each member between calls. Belongs to one thread at a time.
class CpuAttention {
 public:
  virtual ~CpuAttention() = default;
  virtual void forward(const AttentionForwardArgs& args) = 0;
  virtual void backward(const AttentionBackwardArgs& args) = 0;
};

/// One of the caller's own set of loops; others ask cpu_loops() for one. `team` must outlive it.
std::unique_ptr<CpuAttention> create_attention_loops(ThreadTeam& team);

}  // namespace tenax::kernels
