// The next epoch, from what its members said they have.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "resilience/membership/epoch.hpp"
#include "resilience/membership/member_messages.hpp"
#include "resilience/membership/service_output.hpp"

namespace tenax::resilience {

struct Candidate {
  EpochMember member;
  Report report;
  bool was_member = false;  ///< of the epoch before
};

/// The newest state that a candidate holds; −1 where none does.
std::int64_t newest_done(const std::vector<Candidate>& candidates);
/// The first candidate that holds the newest state.
const Candidate& first_holder(const std::vector<Candidate>& candidates);
/// `writer` if it holds the newest state, else the first that does.
int choose_writer(const std::vector<Candidate>& candidates, int writer);

/// Number, reason and writer are the caller's. The ring has the candidates in the order given, of
/// which at least one holds a state. The epoch begins with the first step that no candidate has
/// done. Those that hold its state contribute to it. Where some of them have begun it already,
/// all keep the parts they have, and one without parts gets none if another has some: it joined
/// in that very step.
Epoch begin_epoch(const SampleRules& rules, const std::vector<Candidate>& candidates);

/// What survives of the epoch's first step, where some candidate has begun it (StepRepeated without
/// times).
std::optional<StepRepeated> repeated_step(const Epoch& epoch, const std::vector<Candidate>& candidates);

}  // namespace tenax::resilience
