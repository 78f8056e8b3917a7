#include "tests/bench/gloo_ring.hpp"

namespace tenax::bench {

std::unique_ptr<GlooRing> create_gloo_ring(int, int, const std::string&) { return nullptr; }

}  // namespace tenax::bench
