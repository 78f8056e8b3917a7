#include "resilience/replicas/replica_vote.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>

namespace tenax::resilience {

namespace {

double unix_time_now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// What each replica tells the others in a step.
enum VoteNumber : std::size_t {
  kLoss,
  kIsMasked,
  kIsWhole,
  kIteration,
  kExchange,
  kSquares,
  kUsual,
  kSums,  // as bits
  kPlacedSums,
  kVoteNumbers
};
using VoteNumbers = std::array<double, kVoteNumbers>;

/// Those of all members, in the order of the ring. Returns the sum of their losses.
double take_numbers(const std::vector<double>& numbers, const Epoch& epoch, StepOutcome& outcome) {
  double loss = 0;
  const double* of_member = numbers.data();
  for (const EpochMember& member : epoch.members) {
    loss += of_member[kLoss];
    outcome.is_masked |= of_member[kIsMasked] > 0;
    outcome.whole.push_back(of_member[kIsWhole] > 0 ? 1 : 0);
    outcome.members.push_back({member.id.replica, of_member[kIteration], of_member[kExchange]});
    outcome.iteration_s = std::max(outcome.iteration_s, of_member[kIteration]);
    of_member += kVoteNumbers;
  }
  return loss;
}

OwnSquares own_squares(const double* of_member) {
  return {.squares = of_member[kSquares],
          .sums = {std::bit_cast<std::uint64_t>(of_member[kSums]),
                   std::bit_cast<std::uint64_t>(of_member[kPlacedSums])}};
}

void put(const OwnSquares& own, VoteNumbers& numbers) {
  numbers[kSquares] = own.squares;
  numbers[kSums] = std::bit_cast<double>(own.sums.sum);
  numbers[kPlacedSums] = std::bit_cast<double>(own.sums.placed);
}

}  // namespace

std::optional<Part> only_part(const std::vector<Part>& parts, int replica) {
  std::optional<Part> found;
  for (const Part& part : parts) {
    if (part.replica != replica) continue;
    if (found) return {};
    found = part;
  }
  return found;
}

void ReplicaVote::begin_step(const Epoch& epoch, const MemberPlan& plan) {
  epoch_ = &epoch;
  plan_ = &plan;
  is_open_ = true;
}

void ReplicaVote::begin(const OwnShare& own) {
  own_ = own;
  is_open_ = leader_.begin_vote();
  if (is_open_ && !plan_->is_behind) tell_others();
}

void ReplicaVote::tell_others() {
  VoteNumbers numbers{};
  numbers[kLoss] = own_.loss;
  numbers[kIsMasked] = own_.is_masked ? 1 : 0;
  numbers[kIsWhole] = leader_.is_whole() ? 1 : 0;
  numbers[kIteration] = plan_->is_behind ? 0 : own_.iteration_s;
  numbers[kExchange] = own_.exchange_s;
  put(own_.own, numbers);
  numbers[kUsual] = own_.usual;
  exchange_.start_gather(numbers);
}

void ReplicaVote::conclude(const AgreedStep& agreed) {
  doubt_.reset();
  loss_ = 0;
  outcome_ = {};
  if (!is_open_) return;
  explain_failure();
  if (!agreed.has_all_sums) return;
  if (plan_->is_behind) {
    if (agreed.has_state) leader_.on_fetched(plan_->step);
    tell_others();
  }
  if (const auto numbers = exchange_.finish_gather(deadline())) take(*numbers, agreed);
}

void ReplicaVote::explain_failure() {
  const auto& failure = exchange_.failure();
  if (!failure) return;
  outcome_.why = failure->sentence;
  const auto index = static_cast<std::size_t>(failure->peer);
  if (failure->peer >= 0 && index < epoch_->members.size())
    outcome_.suspect = epoch_->members[index].id.replica;
}

void ReplicaVote::take(const std::vector<double>& numbers, const AgreedStep& agreed) {
  outcome_.has_all_sums = true;
  loss_ = take_numbers(numbers, *epoch_, outcome_);
  find_doubt(numbers);
  outcome_.time = unix_time_now_s();
  outcome_.loss = loss_ / agreed.tokens;
  outcome_.grad_norm = std::sqrt(agreed.squares) / agreed.tokens;
  outcome_.lr = agreed.learning_rate;
  outcome_.squares = std::bit_cast<std::uint64_t>(agreed.squares);
  outcome_.sums = agreed.placed_squares;
  outcome_.digest = own_.digest;
}

// All leaders have the same numbers. The next one in the ring that has samples of its own verifies.
void ReplicaVote::find_doubt(const std::vector<double>& numbers) {
  std::vector<OwnNorm> norms;
  for (std::size_t i = 0; i < epoch_->members.size(); ++i) {
    const double* const of_member = &numbers[i * kVoteNumbers];
    const auto part = only_part(plan_->parts, epoch_->members[i].id.replica);
    norms.push_back({part ? part->count : 0, of_member[kSquares], of_member[kUsual]});
  }
  const auto index = doubtful(norms);
  if (!index) return;
  for (std::size_t i = *index + 1; i < *index + norms.size(); ++i) {
    const std::size_t next = i % norms.size();
    if (norms[next].samples == 0) continue;
    const int replica = epoch_->members[*index].id.replica;
    doubt_ = {replica, epoch_->members[next].id.replica, *only_part(plan_->parts, replica)};
    doubted_ = own_squares(&numbers[*index * kVoteNumbers]);
    return;
  }
}

void ReplicaVote::settle(const OwnSquares& again) {
  VoteNumbers numbers{};
  put(again, numbers);
  exchange_.start_gather(numbers, 1);
  const auto all = exchange_.finish_gather(deadline());
  if (!all) {
    outcome_ = {.why = exchange_.failure() ? exchange_.failure()->sentence : ""};
    return;
  }
  for (std::size_t i = 0; i < epoch_->members.size(); ++i) {
    if (epoch_->members[i].id.replica != doubt_->verifier) continue;
    const OwnSquares right = own_squares(&(*all)[i * kVoteNumbers]);
    if (!contradicts(doubted_.squares, right.squares)) return;
    outcome_ = {.accusation = Accusation{
                    .replica = doubt_->replica,
                    .by = std::isfinite(doubted_.squares) ? CorruptBy::norm : CorruptBy::non_finite,
                    .right = right.sums,
                    .wrong = doubted_.sums}};
    return;
  }
}

}  // namespace tenax::resilience
