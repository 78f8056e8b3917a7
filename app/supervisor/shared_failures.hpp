// SharedFailures: whether all replicas of a run fail for one reason.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "app/supervisor/supervised_replica.hpp"

namespace tenax::app {

/// What is wrong with the deck, the data or the machine is so for all replicas: starting them again does
/// not help. At their first start any reason that they share is taken for such. Later it is one that is a rank's own
/// (Outcome::is_own), for which each has failed twice in a row without a step completed meanwhile. Pure.
class SharedFailures {
 public:
  explicit SharedFailures(std::size_t replicas) : replicas_(replicas) {}

  /// The run has an epoch.
  void on_begun();
  bool has_begun() const { return has_begun_; }
  void on_commit() { failures_.clear(); }
  void on_failure(int replica, const SupervisedReplica::End& end);
  /// It is not started any more. Before the run has begun its last failure counts on; later it is out of the run.
  void on_given_up(int replica);
  /// Once all have failed, but for those given up in a run that has begun: the reason that they share. If they have none, they may try again.
  std::optional<std::string> shared_reason();

 private:
  struct Failure {
    SupervisedReplica::End end;
    int times = 0;  // in a row, for this reason
  };
  bool is_given_up(int replica) const { return given_up_.contains(replica); }
  bool are_alike() const;
  bool are_lasting() const;

  std::size_t replicas_;
  bool has_begun_ = false;
  std::set<int> given_up_;
  std::map<int, Failure> failures_;  // the last ones, by replica
};

}  // namespace tenax::app
