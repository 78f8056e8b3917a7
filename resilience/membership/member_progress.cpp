#include "resilience/membership/member_progress.hpp"

#include <cassert>

namespace tenax::resilience {

void MemberProgress::restore(std::int64_t done, std::int64_t next_sample) {
  step_ = done_ = done;
  first_sample_ = next_sample;
  begun_ = -1;
  parts_.clear();
  holders_.clear();
}

void MemberProgress::adopt(const Epoch& epoch) {
  ring_.clear();
  holders_.clear();
  for (const EpochMember& member : epoch.members) {
    ring_.push_back(member.id.replica);
    if (!member.is_behind) holders_.push_back(member.id.replica);
    if (member.id.replica == replica_ && member.is_behind) done_ = begun_ = -1;
  }
  step_ = epoch.from_step;
  assert((done_ < 0 || is_whole()) && "its report and the epoch disagree");
  first_sample_ = epoch.first_sample;
  parts_ = epoch.parts;
}

bool MemberProgress::complete(const std::vector<char>& whole) {
  assert(whole.size() == ring_.size());
  const bool has_state = is_whole();
  holders_.clear();
  for (std::size_t i = 0; i < ring_.size(); ++i)
    if (whole[i]) holders_.push_back(ring_[i]);
  first_sample_ += count_samples(parts_);
  ++step_;
  if (has_state) done_ = step_;
  parts_ = share_samples(rules_, first_sample_, holders_);
  return has_state;
}

std::vector<Part> MemberProgress::own_parts() const {
  std::vector<Part> own;
  for (const Part& part : parts_)
    if (part.replica == replica_) own.push_back(part);
  return own;
}

}  // namespace tenax::resilience
