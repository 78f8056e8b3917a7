// SharedFailures: whether all replicas of a run fail for one reason.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "app/supervisor/supervised_replica.hpp"

namespace tenax::app {

/// What is wrong with the deck, the data or the machine is so for all replicas: starting them again does
/// not help. At their first start any reason that they share is taken for such; later one that is a rank's own
/// (Outcome::is_own), if they have not completed a step meanwhile. Pure.
class SharedFailures {
 public:
  explicit SharedFailures(std::size_t replicas) : replicas_(replicas) {}

  /// The run has an epoch.
  void on_begun();
  bool has_begun() const { return has_begun_; }
  void on_commit() { failures_.clear(); }
  void on_failure(int replica, const SupervisedReplica::End& end) { failures_[replica] = end; }
  /// It is not started any more.
  void on_given_up(int replica);
  /// Once all have failed: the reason that they share. If they have none, they may try again.
  std::optional<std::string> shared_reason();

 private:
  bool are_alike() const;

  std::size_t replicas_;  // that are not given up
  bool has_begun_ = false;
  std::map<int, SupervisedReplica::End> failures_;  // by replica
};

}  // namespace tenax::app
