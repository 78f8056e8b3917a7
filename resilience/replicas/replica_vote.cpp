#include "resilience/replicas/replica_vote.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

namespace tenax::resilience {

namespace {

double unix_time_now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// What each replica tells the others in a step.
enum VoteNumber : std::size_t {
  kLoss,
  kIsMasked,
  kIsCrowded,
  kIsWhole,
  kIteration,
  kWaited,
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
  std::vector<StepTime> times;
  const double* of_member = numbers.data();
  for (const EpochMember& member : epoch.members) {
    loss += of_member[kLoss];
    outcome.is_masked |= of_member[kIsMasked] > 0;
    outcome.is_crowded |= of_member[kIsCrowded] > 0;
    outcome.whole.push_back(of_member[kIsWhole] > 0 ? 1 : 0);
    outcome.members.push_back({member.id.replica, of_member[kIteration], of_member[kExchange]});
    times.push_back({.own_s = of_member[kIteration], .waited_s = of_member[kWaited]});
    of_member += kVoteNumbers;
  }
  outcome.iteration_s = iteration_seconds(times);
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

double iteration_seconds(std::span<const StepTime> replicas) {
  double own_s = 0;
  std::optional<double> waited_s;
  for (const StepTime& replica : replicas) {
    own_s = std::max(own_s, replica.own_s);
    if (replica.waited_s > 0) waited_s = std::min(replica.waited_s, waited_s.value_or(replica.waited_s));
  }
  return own_s > 0 ? own_s + waited_s.value_or(0) : 0;
}

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
  std::vector<ReplicaId> members;
  for (const EpochMember& member : epoch.members) members.push_back(member.id);
  is_repeated_ = plan.step == step_ && members == members_;
  step_ = plan.step;
  members_ = std::move(members);
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
  numbers[kIsCrowded] = own_.is_crowded ? 1 : 0;
  numbers[kIsWhole] = leader_.is_whole() ? 1 : 0;
  numbers[kIteration] = plan_->is_behind ? 0 : own_.iteration_s;
  numbers[kWaited] = own_.waited_s;
  numbers[kExchange] = own_.exchange_s;
  put(own_.own, numbers);
  numbers[kUsual] = own_.usual;
  exchange_.start_gather(numbers);
}

void ReplicaVote::tell(const AgreedStep& agreed) {
  const bool is_somebody_behind = plan_->holders.size() < epoch_->members.size();
  latest_ = kernels::Deadline::after_s(waits_.longest_s + (is_somebody_behind ? waits_.join_s : 0));
  if (!is_open_ || !agreed.has_all_sums || !plan_->is_behind) return;
  if (agreed.has_state) leader_.on_fetched(plan_->step);
  tell_others();
}

void ReplicaVote::conclude(const AgreedStep& agreed, std::span<const double> accusers) {
  doubt_.reset();
  loss_ = 0;
  outcome_ = {};
  if (!is_open_) return;
  if (!agreed.has_all_sums) return explain_failure(is_repeated_ ? accusers : std::span<const double>());
  if (const auto numbers = exchange_.finish_gather(latest_))
    take(*numbers, agreed);
  else
    explain_failure({});
}

// Most ranks know best: this one's exchange may be well.
void ReplicaVote::explain_failure(std::span<const double> accusers) {
  const auto& failure = exchange_.failure();
  int index = failure ? failure->peer : comm::FtarFailure::kNobody;
  if (const auto most = std::max_element(accusers.begin(), accusers.end());
      most != accusers.end() && *most > 0)
    index = static_cast<int>(most - accusers.begin());
  if (index >= 0 && index < static_cast<int>(epoch_->members.size()))
    outcome_.suspect = epoch_->members[static_cast<std::size_t>(index)].id.replica;
  outcome_.why = failure ? failure->sentence : "the exchange of another rank failed";
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

void ReplicaVote::tell_again(const OwnSquares& again) {
  VoteNumbers numbers{};
  put(again, numbers);
  latest_ = kernels::Deadline::after_s(waits_.verifier_s);
  exchange_.start_gather(numbers, 1);
}

void ReplicaVote::settle() {
  const auto all = exchange_.finish_gather(latest_);
  if (!all) {
    outcome_ = {};
    return explain_failure({});
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
