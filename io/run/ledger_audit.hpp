// LedgerAudit: whether the records of a ledger, one after the other, can be: no step is missing or
// done twice, and each sample counts once, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/run/ledger_record.hpp"

namespace tenax::io {

/// Pure: records in, the steps that count out. Thread rule: one thread.
class LedgerAudit {
 public:
  /// Throws Error(rank) with a sentence when the record contradicts those before it:
  /// * epochs count up by one from 1, have members, each replica once and never an incarnation
  ///   older than before, and begin no later than the next step; `leave` lacks a member of the
  ///   epoch before, `join` has one that it had not (`lost` may have the same: an exchange can fail
  ///   without a death);
  /// * a commit is of the next step and the last epoch; its parts tile its samples, which begin
  ///   where the last step's end; they belong to members, and to none that has joined just now;
  /// * what is void has been trained or is the next step, and counts for the last epoch or for the
  ///   next one, before which nothing is committed.
  void take(const LedgerRecord& record);

  /// Those that count, by step; the first has step first_step().
  const std::vector<LedgerCommit>& commits() const { return commits_; }
  std::int64_t first_step() const { return first_step_; }
  std::int64_t next_step() const { return first_step_ + static_cast<std::int64_t>(commits_.size()); }
  /// The sample with which the next step begins; nothing where the ledger does not tell.
  std::optional<std::int64_t> next_sample() const { return next_sample_; }
  /// Lines of each kind.
  std::int64_t epochs() const { return epochs_; }
  std::int64_t voids() const { return voids_; }
  /// Members that an epoch lacks because they were lost.
  std::int64_t replicas_lost() const { return replicas_lost_; }
  /// Members with whom an epoch ended that no other one continues: lost together, or stopped on request. The
  /// ledger cannot tell.
  std::vector<LedgerEpoch::Member> ended_together() const;

 private:
  void take(const LedgerCommit& commit);
  void take(const LedgerEpoch& epoch);
  void take(const LedgerVoid& what);
  void check_members(const LedgerEpoch& epoch);
  void check_reason(const LedgerEpoch& epoch);
  void check_owners(const LedgerCommit& commit) const;
  bool is_member(std::int64_t replica) const;
  bool has_just_joined(std::int64_t replica) const;

  std::vector<LedgerCommit> commits_;
  std::int64_t first_step_ = 0;
  std::optional<std::int64_t> next_sample_;
  std::optional<LedgerEpoch> epoch_;        // the last
  std::vector<std::int64_t> joiners_;       // of it; none once a step was committed in it
  std::vector<LedgerEpoch::Member> ended_;  // before a start
  std::vector<LedgerEpoch::Member> known_;  // the newest incarnation of each replica
  std::int64_t least_epoch_of_commit_ = 0;  // after a void that announces its epoch
  std::int64_t epochs_ = 0, voids_ = 0, replicas_lost_ = 0;
};

}  // namespace tenax::io
