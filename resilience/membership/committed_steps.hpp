// CommittedSteps: what a ledger's records amount to: how many steps count, which samples they took,
// who is in the epoch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "resilience/membership/records.hpp"

namespace tenax::resilience {

class CommittedSteps {
 public:
  /// Takes the next record in. Throws kernels::Error(job) at one that contradicts those before.
  void add(const Record& record);

  /// Steps that are complete and count.
  std::int64_t done() const { return base_ + static_cast<std::int64_t>(first_samples_.size()); }
  /// Samples that are used up after `done` steps; nothing where the ledger does not know.
  std::optional<std::int64_t> samples_after(std::int64_t done) const;
  /// The newest; null where there is none.
  const EpochRecord* epoch() const { return epoch_ ? &*epoch_ : nullptr; }
  /// Steps were voided after the newest epoch had been decided: those of its members that hold more
  /// than done() are out of the run.
  bool is_cut() const { return is_cut_; }
  /// Of each replica that was ever a member the newest incarnation.
  const std::vector<ReplicaId>& newest_members() const { return newest_members_; }

  /// What is wrong with `commit` as the next record; empty if nothing.
  std::string fault(const CommitRecord& commit) const;

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(base_, first_samples_, next_sample_, epoch_, is_cut_, newest_members_);
  }

 private:
  void take(const CommitRecord& commit);
  void take(const EpochRecord& epoch);
  void take(const VoidRecord& gone);
  void cut(std::int64_t done);

  std::int64_t base_ = 0;                    // steps done before the first commit that counts
  std::vector<std::int64_t> first_samples_;  // of the steps base_, base_ + 1, …
  std::optional<std::int64_t> next_sample_;  // after all of them
  std::optional<EpochRecord> epoch_;
  bool is_cut_ = false;
  std::vector<ReplicaId> newest_members_;
};

}  // namespace tenax::resilience
