// LedgerReplay: what a ledger proves, by rules of its own: steps without a gap, each sample once, one result of a step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "resilience/membership/records.hpp"

namespace tenax::resilience {

/// The result of a step, in a world whose training is arithmetic: a number made of the state before and of the samples.
std::uint64_t result_of_step(std::uint64_t state, const std::vector<Part>& parts);

class LedgerReplay {
 public:
  explicit LedgerReplay(const std::vector<Record>& records);

  /// The first contradiction; empty if there is none.
  const std::string& contradiction() const { return contradiction_; }
  std::int64_t done() const { return static_cast<std::int64_t>(states_.size()) - 1; }
  /// After `done` steps, of those that count.
  std::uint64_t state_after(std::int64_t done) const { return states_[static_cast<std::size_t>(done)]; }
  const EpochRecord& epoch() const { return epoch_; }

 private:
  void add(const CommitRecord& commit);
  void add(const EpochRecord& epoch);
  void add(const VoidRecord& gone);
  void require(bool holds, const std::string& what);

  EpochRecord epoch_;
  std::vector<ReplicaId> joiners_;  // of the epoch
  std::vector<std::uint64_t> states_{1};
  std::vector<std::int64_t> cursors_{0};
  std::string contradiction_;
};

}  // namespace tenax::resilience
