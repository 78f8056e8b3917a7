#include "tests/resilience/membership/ledger_replay.hpp"

#include <algorithm>

#include "tests/resilience/membership/state_hash.hpp"

namespace tenax::resilience {
namespace {

bool has(const EpochRecord& epoch, int replica) {
  return std::any_of(epoch.members.begin(), epoch.members.end(),
                     [&](const auto& member) { return member.id.replica == replica; });
}

bool has(const EpochRecord& epoch, ReplicaId id) {
  return std::any_of(epoch.members.begin(), epoch.members.end(),
                     [&](const auto& member) { return member.id == id; });
}

}  // namespace

std::uint64_t result_of_step(std::uint64_t state, const std::vector<Part>& parts) {
  StateHash hash;
  hash(state, parts);
  return hash.value();
}

LedgerReplay::LedgerReplay(const std::vector<Record>& records) {
  for (const Record& record : records)
    if (contradiction_.empty()) std::visit([this](const auto& known) { add(known); }, record);
}

void LedgerReplay::add(const CommitRecord& commit) {
  const std::string name = "commit of step " + std::to_string(commit.step);
  require(commit.step == done(), name + " is not the next");
  require(commit.epoch == epoch_.epoch, name + " is of another epoch");
  if (!contradiction_.empty()) return;
  std::int64_t cursor = cursors_.back();
  for (const Part& part : commit.parts) {
    require(part.first == cursor && part.count > 0, name + " has parts that do not tile");
    require(has(epoch_, part.replica), name + " has a part of no member");
    cursor += part.count;
    for (const ReplicaId& id : joiners_)
      require(id.replica != part.replica || commit.step != epoch_.from_step,
              name + " has a part of a joiner");
  }
  cursors_.push_back(cursor);
  states_.push_back(result_of_step(states_.back(), commit.parts));
  require(states_.back() == commit.squares, name + " has another result than its samples give");
}

void LedgerReplay::add(const EpochRecord& epoch) {
  const std::string name = "epoch " + std::to_string(epoch.epoch);
  require(epoch.epoch == epoch_.epoch + 1, name + " is not the next");
  require(epoch.from_step == done(), name + " does not begin with the next step");
  require(!epoch.members.empty(), name + " has no members");
  joiners_.clear();
  if (epoch.reason != EpochReason::start)
    for (const auto& member : epoch.members)
      if (!has(epoch_, member.id)) joiners_.push_back(member.id);
  require(joiners_.size() < epoch.members.size(), name + " has joiners only");
  epoch_ = epoch;
}

void LedgerReplay::add(const VoidRecord& gone) {
  require(gone.void_from < done() && gone.epoch == epoch_.epoch, "a void record is wrong");
  if (!contradiction_.empty()) return;
  cursors_.resize(static_cast<std::size_t>(gone.void_from) + 1);
  states_.resize(cursors_.size());
}

void LedgerReplay::require(bool holds, const std::string& what) {
  if (!holds && contradiction_.empty()) contradiction_ = what;
}

}  // namespace tenax::resilience
