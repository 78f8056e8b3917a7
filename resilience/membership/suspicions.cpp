#include "resilience/membership/suspicions.hpp"

namespace tenax::resilience {

void Suspicions::add(int accuser, int accused, double now) {
  if (accusers_.empty()) since_s_ = now;
  accusers_[accused].insert(accuser);
}

int Suspicions::culprit(const std::vector<int>& ring) const {
  int culprit = -1;
  std::size_t most = 0;
  for (const int replica : ring) {
    const auto found = accusers_.find(replica);
    if (found == accusers_.end() || found->second.size() < most) continue;
    culprit = replica;
    most = found->second.size();
  }
  return culprit;
}

}  // namespace tenax::resilience
