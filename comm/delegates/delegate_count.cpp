#include <algorithm>
#include <cmath>

#include "comm/delegates/delegated_link.hpp"

namespace tenax::comm {

int delegates_needed(double transfer_s, double production_interval_s) {
  constexpr double kMost = 64;
  constexpr double kRounding = 1e-9;  // 30 ms every 10 ms is 3, whatever the last bits say
  if (transfer_s <= 0) return 1;
  if (production_interval_s <= 0) return static_cast<int>(kMost);
  return static_cast<int>(std::clamp(std::ceil(transfer_s / production_interval_s - kRounding), 1.0, kMost));
}

}  // namespace tenax::comm
