#include "app/supervisor/shared_failures.hpp"

#include <algorithm>
#include <utility>

namespace tenax::app {
namespace {

/// Something that passes, as a GPU's fault, may end a replica that has trained once.
constexpr int kTimesInARow = 2;

std::string told_reason(const SupervisedReplica::End& end) { return end.outcome ? end.outcome->reason : ""; }

}  // namespace

void SharedFailures::on_begun() {
  if (!std::exchange(has_begun_, true)) failures_.clear();
}

void SharedFailures::on_failure(int replica, const SupervisedReplica::End& end) {
  Failure& failure = failures_[replica];
  const bool is_again = failure.times > 0 && told_reason(failure.end) == told_reason(end);
  failure = {end, is_again ? failure.times + 1 : 1};
}

void SharedFailures::on_given_up(int replica) {
  given_up_.insert(replica);
  if (has_begun_) failures_.erase(replica);
}

std::optional<std::string> SharedFailures::shared_reason() {
  const std::size_t needed = has_begun_ ? replicas_ - given_up_.size() : replicas_;
  if (failures_.empty() || failures_.size() < needed) return {};
  const SupervisedReplica::End first = failures_.begin()->second.end;
  const bool are_shared = has_begun_ ? are_lasting() : are_alike();
  if (!has_begun_) std::erase_if(failures_, [&](const auto& failure) { return !is_given_up(failure.first); });
  if (!are_shared) return {};
  return first.outcome ? first.reason : "no replica could be started: " + first.reason;
}

// What a remote shell or mpirun says may name the host. One that is given up has failed long before the others, and for
// another reason where its last words are others.
bool SharedFailures::are_alike() const {
  const SupervisedReplica::End& first = failures_.begin()->second.end;
  return std::all_of(failures_.begin(), failures_.end(), [&](const auto& failure) {
    const SupervisedReplica::End& end = failure.second.end;
    if (end.outcome.has_value() != first.outcome.has_value()) return false;
    return end.reason == first.reason || (!end.outcome && given_up_.empty());
  });
}

bool SharedFailures::are_lasting() const {
  const std::string reason = told_reason(failures_.begin()->second.end);
  return std::all_of(failures_.begin(), failures_.end(), [&](const auto& failure) {
    const auto& [end, times] = failure.second;
    return end.outcome && end.outcome->is_own && end.outcome->reason == reason && times >= kTimesInARow;
  });
}

}  // namespace tenax::app
