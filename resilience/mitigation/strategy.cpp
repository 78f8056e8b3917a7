#include "resilience/mitigation/strategy.hpp"

#include <cassert>

namespace tenax::resilience {

const char* name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::microbatches:
      return "microbatches";
    case Strategy::ring:
      return "ring";
    case Strategy::swap:
      return "swap";
    case Strategy::restart:
      return "restart";
  }
  assert(false && "no strategy");
  return "";
}

}  // namespace tenax::resilience
