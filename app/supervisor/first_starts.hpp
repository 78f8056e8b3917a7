// FirstStarts: whether all replicas of a run failed at their first start, and for one reason.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "app/supervisor/supervised_replica.hpp"

namespace tenax::app {

/// What is wrong with the deck, the data or the machine is so for all replicas: starting them again does
/// not help. Pure.
class FirstStarts {
 public:
  explicit FirstStarts(std::size_t replicas) : replicas_(replicas) {}

  /// The run has an epoch: replicas that fail from now on fail alone.
  void on_begun() { has_begun_ = true; }
  bool has_begun() const { return has_begun_; }
  void on_failure(int replica, const SupervisedReplica::End& end);
  /// Once all have failed: the reason that they share. If they have none, they may try again.
  std::optional<std::string> shared_reason();

 private:
  bool are_alike() const;

  std::size_t replicas_;
  bool has_begun_ = false;
  std::map<int, SupervisedReplica::End> failures_;  // by replica
};

}  // namespace tenax::app
