// gloo's ring all-reduce over TCP, where libgloo-dev is installed: what ftar_bench compares with.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace tenax::bench {

class GlooRing {
 public:
  virtual ~GlooRing() = default;
  virtual void all_reduce(const float* in, float* out, std::size_t elements) = 0;
};

/// Collective. `directory`: an empty one that all ranks see. Null where this build has no gloo.
std::unique_ptr<GlooRing> create_gloo_ring(int rank, int size, const std::string& directory);

}  // namespace tenax::bench
