#include "io/run/ledger_audit.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "io/json.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using Member = LedgerEpoch::Member;

[[noreturn]] void refuse_ledger(const std::string& sentence) {
  throw kernels::Error(kernels::Scope::rank, sentence);
}

std::string text(std::int64_t number) { return std::to_string(number); }

/// The same process of the same replica.
bool has(const std::vector<Member>& members, const Member& wanted) {
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.replica == wanted.replica && member.incarnation == wanted.incarnation;
  });
}

/// Those of `from` that are not among `others`.
std::vector<std::int64_t> missing(const std::vector<Member>& from, const std::vector<Member>& others) {
  std::vector<std::int64_t> replicas;
  for (const Member& member : from)
    if (!has(others, member)) replicas.push_back(member.replica);
  return replicas;
}

/// Parts stand in any order; together they must be the step's samples, each once.
void check_tiles(const LedgerCommit& commit) {
  std::vector<LedgerCommit::Part> parts = commit.parts;
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::int64_t next = commit.first_sample;
  for (const LedgerCommit::Part& part : parts) {
    if (part.count < 1) refuse_ledger("a part of replica " + text(part.replica) + " has no samples");
    if (part.first != next)
      refuse_ledger("its parts do not tile its samples: sample " + text(std::min(next, part.first)) +
                    (part.first > next ? " is in none" : " is in two"));
    next = part.first + part.count;
  }
  if (next != commit.first_sample + commit.samples)
    refuse_ledger("its parts have " + text(next - commit.first_sample) +
                  " samples, but samples = " + text(commit.samples));
}

}  // namespace

void LedgerAudit::take(const LedgerRecord& record) {
  std::visit([this](const auto& what) { take(what); }, record.what);
}

void LedgerAudit::take(const LedgerEpoch& epoch) {
  const std::int64_t number = epoch_ ? epoch_->epoch + 1 : 1;
  if (epoch.epoch != number) refuse_ledger("epoch " + text(epoch.epoch) + " should be epoch " + text(number));
  if (!epoch_) first_step_ = epoch.from_step;
  if (!epoch_ && first_step_ == 0) next_sample_ = 0;
  if (epoch.from_step > next_step())
    refuse_ledger("epoch " + text(number) + " begins with step " + text(epoch.from_step) + ", but step " +
                  text(next_step()) + " is the next");
  check_members(epoch);
  check_reason(epoch);
  epoch_ = epoch;
  ++epochs_;
}

void LedgerAudit::check_members(const LedgerEpoch& epoch) {
  std::set<std::int64_t> replicas;
  for (const Member& member : epoch.members) {
    if (!replicas.insert(member.replica).second)
      refuse_ledger("replica " + text(member.replica) + " is a member of epoch " + text(epoch.epoch) +
                    " twice");
    const auto known = std::find_if(known_.begin(), known_.end(),
                                    [&](const Member& other) { return other.replica == member.replica; });
    if (known == known_.end()) {
      known_.push_back(member);
      continue;
    }
    if (member.incarnation < known->incarnation)
      refuse_ledger("replica " + text(member.replica) + " is a member with incarnation " +
                    text(member.incarnation) + ", after incarnation " + text(known->incarnation));
    *known = member;
  }
}

void LedgerAudit::check_reason(const LedgerEpoch& epoch) {
  const std::vector<Member> before = epoch_ ? epoch_->members : std::vector<Member>();
  const std::vector<std::int64_t> gone = missing(before, epoch.members);
  joiners_ = missing(epoch.members, before);
  if (epoch.reason == "leave" && gone.empty())
    refuse_ledger("epoch " + text(epoch.epoch) + " has reason \"" + epoch.reason +
                  "\", but all members of the one before");
  if (epoch.reason == "join" && joiners_.empty())
    refuse_ledger("epoch " + text(epoch.epoch) + " has reason \"join\", but no new member");
  if (!epoch_ && epoch.reason != "start")
    refuse_ledger("the first epoch has reason \"" + epoch.reason + "\" instead of \"start\"");
  if (epoch.reason == "lost") replicas_lost_ += static_cast<std::int64_t>(gone.size());
  if (epoch.reason != "start") return;
  joiners_.clear();  // all begin with the same state
  std::copy_if(before.begin(), before.end(), std::back_inserter(ended_),
               [&](const Member& member) { return !has(epoch.members, member); });
}

std::vector<Member> LedgerAudit::ended_together() const {
  std::vector<Member> members = ended_;
  if (epoch_) members.insert(members.end(), epoch_->members.begin(), epoch_->members.end());
  return members;
}

void LedgerAudit::take(const LedgerCommit& commit) {
  if (!epoch_) refuse_ledger("step " + text(commit.step) + " is committed before the first epoch");
  if (commit.epoch != epoch_->epoch)
    refuse_ledger("step " + text(commit.step) + " is committed in epoch " + text(commit.epoch) +
                  ", but epoch " + text(epoch_->epoch) + " is the last one");
  if (commit.epoch < least_epoch_of_commit_)
    refuse_ledger("step " + text(commit.step) + " is committed in epoch " + text(commit.epoch) +
                  " after a void line of epoch " + text(least_epoch_of_commit_));
  if (commit.step != next_step())
    refuse_ledger("step " + text(commit.step) + " is committed, but step " + text(next_step()) +
                  " is the next");
  if (next_sample_ && commit.first_sample != *next_sample_)
    refuse_ledger("step " + text(commit.step) + " begins with sample " + text(commit.first_sample) +
                  ", but sample " + text(*next_sample_) + " is the next");
  check_tiles(commit);
  check_owners(commit);
  joiners_.clear();
  next_sample_ = commit.first_sample + commit.samples;
  commits_.push_back(commit);
}

void LedgerAudit::check_owners(const LedgerCommit& commit) const {
  for (const LedgerCommit::Part& part : commit.parts) {
    if (!is_member(part.replica))
      refuse_ledger("step " + text(commit.step) + " has samples of replica " + text(part.replica) +
                    ", which is no member of epoch " + text(commit.epoch));
    if (has_just_joined(part.replica))
      refuse_ledger("step " + text(commit.step) + " has samples of replica " + text(part.replica) +
                    ", which joined with that step");
  }
}

bool LedgerAudit::is_member(std::int64_t replica) const {
  return std::any_of(epoch_->members.begin(), epoch_->members.end(),
                     [&](const Member& member) { return member.replica == replica; });
}

bool LedgerAudit::has_just_joined(std::int64_t replica) const {
  return std::find(joiners_.begin(), joiners_.end(), replica) != joiners_.end();
}

void LedgerAudit::take(const LedgerVoid& what) {
  ++voids_;
  least_epoch_of_commit_ = what.epoch;
  const std::int64_t last = epoch_ ? epoch_->epoch : 0;
  if (what.epoch != last && what.epoch != last + 1)
    refuse_ledger("a void line of epoch " + text(what.epoch) + " stands after epoch " + text(last));
  if (!epoch_) return;  // of a run before this ledger
  if (what.void_from > next_step())
    refuse_ledger("steps are void from step " + text(what.void_from) + ", but step " + text(next_step()) +
                  " is the next");
  if (what.void_from < first_step_) {  // back to a state that is older than this ledger
    first_step_ = what.void_from;
    next_sample_.reset();
    commits_.clear();
  } else if (what.void_from < next_step()) {
    const auto kept = static_cast<std::size_t>(what.void_from - first_step_);
    next_sample_ = commits_[kept].first_sample;
    commits_.resize(kept);
  }
  if (first_step_ == 0 && commits_.empty()) next_sample_ = 0;
}

}  // namespace tenax::io
