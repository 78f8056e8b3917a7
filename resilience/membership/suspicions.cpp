#include "resilience/membership/suspicions.hpp"

namespace tenax::resilience {

void Suspicions::add(int accuser, int accused, double now) {
  if (accusers_.empty()) since_s_ = now;
  accusers_[accused].insert(accuser);
}

std::vector<int> Suspicions::most_accused(const std::vector<int>& ring) const {
  std::vector<int> accused;
  std::size_t most = 1;
  for (const int replica : ring) {
    const auto found = accusers_.find(replica);
    if (found == accusers_.end() || found->second.size() < most) continue;
    if (found->second.size() > most) accused.clear();
    most = found->second.size();
    accused.push_back(replica);
  }
  return accused;
}

}  // namespace tenax::resilience
