#include "resilience/membership/committed_steps.hpp"

#include <algorithm>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

[[noreturn]] void refuse(const std::string& record, const std::string& why) {
  throw kernels::Error(kernels::Scope::job, "the ledger contradicts itself: " + record + " " + why);
}

std::string name_of(const CommitRecord& commit) {
  return "the commit of step " + std::to_string(commit.step);
}

bool is_member(const EpochRecord& epoch, int replica) {
  return std::any_of(epoch.members.begin(), epoch.members.end(),
                     [&](const EpochRecord::Member& member) { return member.id.replica == replica; });
}

}  // namespace

void CommittedSteps::add(const Record& record) {
  std::visit([this](const auto& known) { take(known); }, record);
}

std::optional<std::int64_t> CommittedSteps::samples_after(std::int64_t done) const {
  if (done == this->done()) return next_sample_;
  if (done < base_ || done > this->done()) return {};
  return first_samples_[static_cast<std::size_t>(done - base_)];
}

std::string CommittedSteps::fault(const CommitRecord& commit) const {
  if (!epoch_ || commit.epoch != epoch_->epoch) return "is of epoch " + std::to_string(commit.epoch);
  if (commit.step != done()) return "comes after " + std::to_string(done()) + " steps";
  if (next_sample_.value_or(commit.first_sample) != commit.first_sample ||
      !tile(commit.parts, commit.first_sample))
    return "has parts that do not tile the samples from " + std::to_string(commit.first_sample) + " on";
  for (const Part& part : commit.parts)
    if (!is_member(*epoch_, part.replica))
      return "has samples of replica " + std::to_string(part.replica) + ", which is no member";
  return {};
}

void CommittedSteps::take(const CommitRecord& commit) {
  if (const std::string why = fault(commit); !why.empty()) refuse(name_of(commit), why);
  first_samples_.push_back(commit.first_sample);
  next_sample_ = commit.first_sample + count_samples(commit.parts);
}

void CommittedSteps::take(const EpochRecord& epoch) {
  const std::int64_t expected = epoch_ ? epoch_->epoch + 1 : 1;
  const std::string name = "epoch " + std::to_string(epoch.epoch);
  if (epoch.epoch != expected) refuse(name, "comes where " + std::to_string(expected) + " should");
  if (!epoch_) base_ = epoch.from_step;
  if (epoch.from_step > done()) refuse(name, "begins after steps that nobody has completed");
  cut(epoch.from_step);
  epoch_ = epoch;
  is_cut_ = false;
  for (const EpochRecord::Member& member : epoch.members) {
    std::erase_if(newest_members_, [&](const ReplicaId& id) { return id.replica == member.id.replica; });
    newest_members_.push_back(member.id);
  }
}

void CommittedSteps::take(const VoidRecord& gone) {
  cut(gone.void_from);
  is_cut_ = true;
}

void CommittedSteps::cut(std::int64_t done) {
  if (done >= this->done()) return;
  next_sample_ = samples_after(done);
  first_samples_.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, done - base_)));
  base_ = std::min(base_, done);
}

}  // namespace tenax::resilience
