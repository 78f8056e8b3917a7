#include "app/supervisor/first_starts.hpp"

#include <algorithm>
#include <utility>

namespace tenax::app {

void FirstStarts::on_failure(int replica, const SupervisedReplica::End& end) {
  if (!has_begun_) failures_[replica] = end;
}

std::optional<std::string> FirstStarts::shared_reason() {
  if (has_begun_ || failures_.size() < replicas_) return {};
  const bool are_alike = this->are_alike();
  const SupervisedReplica::End first = std::exchange(failures_, {}).begin()->second;
  if (!are_alike) return {};
  return first.outcome ? first.reason : "no replica could be started: " + first.reason;
}

bool FirstStarts::are_alike() const {
  const auto& first = failures_.begin()->second.outcome;
  return std::all_of(failures_.begin(), failures_.end(), [&](const auto& failure) {
    const auto& outcome = failure.second.outcome;
    return outcome.has_value() == first.has_value() && (!outcome || outcome->reason == first->reason);
  });
}

}  // namespace tenax::app
