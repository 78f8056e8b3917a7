#include "app/supervisor/shared_failures.hpp"

#include <algorithm>
#include <utility>

namespace tenax::app {

void SharedFailures::on_begun() {
  if (!std::exchange(has_begun_, true)) failures_.clear();
}

void SharedFailures::on_given_up(int replica) {
  failures_.erase(replica);
  --replicas_;
}

std::optional<std::string> SharedFailures::shared_reason() {
  if (failures_.empty() || failures_.size() < replicas_) return {};
  const bool are_alike = this->are_alike();
  const SupervisedReplica::End first = std::exchange(failures_, {}).begin()->second;
  if (!are_alike) return {};
  return first.outcome ? first.reason : "no replica could be started: " + first.reason;
}

bool SharedFailures::are_alike() const {
  const auto& first = failures_.begin()->second.outcome;
  if (has_begun_ && !(first && first->is_own)) return false;
  return std::all_of(failures_.begin(), failures_.end(), [&](const auto& failure) {
    const auto& outcome = failure.second.outcome;
    return outcome.has_value() == first.has_value() && (!outcome || outcome->reason == first->reason);
  });
}

}  // namespace tenax::app
