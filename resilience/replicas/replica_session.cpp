#include "resilience/replicas/replica_session.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "resilience/membership/message_text.hpp"
#include "resilience/replicas/step_order.hpp"

namespace tenax::resilience {

using kernels::Deadline;
using Action = MemberPlan::Action;

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

/// What a replica computes of a step; absent where it is nothing, or not in one piece.
std::optional<Part> only_part(const std::vector<Part>& parts, int replica) {
  std::optional<Part> found;
  for (const Part& part : parts) {
    if (part.replica != replica) continue;
    if (found) return {};
    found = part;
  }
  return found;
}

/// How long the ranks of a replica wait for its leader at a time: less than a group's deadline.
constexpr double kTurn_s = 1;

}  // namespace

int StepWork::contributing() const {
  std::set<int> replicas;
  for (const Part& part : plan.parts) replicas.insert(part.replica);
  return static_cast<int>(replicas.size());
}

ReplicaSession::ReplicaSession(comm::ControlGroup& control, comm::Transport& transport,
                               comm::Transport& state_transport, kernels::Device& device,
                               ReplicaLeader* leader, const FrozenEpoch& frozen, StateAccess state,
                               StepPoints& points, Options options)
    : control_(control),
      state_transport_(state_transport),
      leader_(leader),
      state_(std::move(state)),
      points_(points),
      options_(std::move(options)),
      exchange_(transport, device, [&] {
        comm::FtarOptions exchange = options_.exchange;
        exchange.frozen_epoch = &frozen.word();
        return exchange;
      }()) {
  if (state_.slices) server_.emplace(*state_.slices, state_transport_, points_, options_.deadline_s);
}

comm::Peer ReplicaSession::peer_at(const EpochMember& member, const std::vector<std::string>& own) const {
  comm::Peer peer{options_.rank,
                  "replica " + std::to_string(member.id.replica) + " rank " + std::to_string(options_.rank) +
                      " (" + member.host + ")",
                  {},
                  member.id.replica};
  std::istringstream addresses(own.at(static_cast<std::size_t>(options_.rank)));
  for (std::string address; addresses >> address;) peer.addresses.push_back(address);
  return peer;
}

comm::Peer ReplicaSession::state_peer_of(const EpochMember& member) const {
  return peer_at(member, member.state_addresses.empty() ? member.addresses : member.state_addresses);
}

// Who fetches at the same time begins with another source each.
int ReplicaSession::turn_of_fetch() const {
  int turn = 0;
  for (const EpochMember& member : epoch_.members)
    if (member.is_behind && member.id.replica < options_.replica) ++turn;
  return turn;
}

void ReplicaSession::take_epoch(const Epoch& epoch) {
  end_fetch();
  if (server_) server_->drop_all();
  epoch_ = epoch;
  comm::FtarRing ring{.epoch = epoch.number, .rank = options_.rank, .index = 0, .peers = {}};
  for (const EpochMember& member : epoch.members) {
    if (member.id.replica == options_.replica) ring.index = static_cast<int>(ring.peers.size());
    ring.peers.push_back(peer_of(member));
  }
  exchange_.set_ring(std::move(ring));
  const EpochMember* me = epoch.find(options_.replica);
  if (!server_ || me->is_behind) return;
  for (const EpochMember& member : epoch.members)
    if (member.is_behind) server_->serve(state_peer_of(member), state_purpose());
}

bool ReplicaSession::is_somebody_behind(const MemberPlan& plan) const {
  return plan.holders.size() < epoch_.members.size();
}

// A holder's state stands still until before_update(); who is behind asks all holders for it.
void ReplicaSession::begin_state(const MemberPlan& plan) {
  end_fetch();
  if (plan.is_behind && !behind_since_s_) {
    behind_since_s_ = kernels::steady_now_s();
    held_s_ = fetched_bytes_ = 0;
  }
  if (!state_.slices) return;
  if (!plan.is_behind) {
    const bool is_there = !state_.bring || (is_somebody_behind(plan) && state_.bring());
    return is_there ? server_->open(plan.step) : server_->close();
  }
  std::vector<comm::Peer> holders;
  for (const int replica : plan.holders)
    if (const EpochMember* holder = epoch_.find(replica)) holders.push_back(state_peer_of(*holder));
  fetch_ = std::make_unique<StateFetch>(*state_.slices, state_transport_, holders, points_,
                                        StateFetch::Options{.done = plan.step,
                                                            .purpose = state_purpose(),
                                                            .deadline_s = options_.deadline_s,
                                                            .bytes_per_s = options_.state_bytes_per_s,
                                                            .first_source = turn_of_fetch()});
}

// An epoch that the ranks know already travels by its number alone.
StepWork ReplicaSession::begin() {
  if (std::exchange(has_updated_, false)) points_.reach(StepPoint::commit, plan_.step);
  StepOrder order;
  do {
    std::string text;
    if (leader_) {
      order = leader_->begin_next(Deadline::after_s(kTurn_s));
      const bool is_new = order.plan.action == Action::train && order.plan.epoch != epoch_.number;
      text = order.text(is_new);
    }
    order = StepOrder::parse(control_.broadcast(text, 0));
  } while (order.plan.action == Action::wait);
  plan_ = order.plan;
  if (plan_.action == Action::train) {
    if (epoch_.number == 0) points_.reach(StepPoint::join, plan_.step);
    if (plan_.epoch != epoch_.number) take_epoch(order.epoch);
    begin_state(plan_);
    exchange_.begin_step(plan_.step);
    may_vote_ = true;
    points_.reach(StepPoint::passes, plan_.step);
  }
  return {.plan = plan_, .replica = options_.replica, .is_writer = epoch_.writer == options_.replica};
}

void ReplicaSession::before_update() {
  if (server_) server_->close();
  if (fetch_ && state_.put) state_.put();
  points_.reach(StepPoint::update, plan_.step);
  has_updated_ = true;
}

// The leader's.
void ReplicaSession::tell_others() {
  VoteNumbers numbers{};
  numbers[kLoss] = own_.loss;
  numbers[kIsMasked] = own_.is_masked ? 1 : 0;
  numbers[kIsWhole] = leader_->is_whole() ? 1 : 0;
  numbers[kIteration] = plan_.is_behind ? 0 : own_.iteration_s;
  numbers[kExchange] = own_.exchange_s;
  put(own_.own, numbers);
  numbers[kUsual] = own_.usual;
  exchange_.start_gather(numbers);
}

// Whether a replica that is behind will hold the state is known only when it has been waited for.
bool ReplicaSession::wait_for_pieces(const OwnShare& own) {
  own_ = own;
  points_.reach(StepPoint::exchange, plan_.step);
  if (leader_) may_vote_ = leader_->begin_vote();
  if (leader_ && may_vote_ && !plan_.is_behind) tell_others();
  const bool has_sums = exchange_.finish(exchange_deadline());
  const double begin_s = kernels::steady_now_s();
  const auto latest = Deadline::after_s(options_.join_wait_s);
  while (has_sums && lacks_state() && !fetch_->has_failed() && !latest.expired())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (fetch_) held_s_ += kernels::steady_now_s() - begin_s;
  return has_sums;
}

// The leader's.
void ReplicaSession::vote(const Agreed& agreed) {
  outcome_ = {};
  if (const auto& failure = exchange_.failure()) {
    outcome_.why = failure->sentence;
    const auto index = static_cast<std::size_t>(failure->peer);
    if (failure->peer >= 0 && index < epoch_.members.size())
      outcome_.suspect = epoch_.members[index].id.replica;
  }
  if (!agreed.has_all_sums) return;
  if (plan_.is_behind) {
    if (agreed.has_state) leader_->on_fetched(plan_.step);
    tell_others();
  }
  const auto numbers = exchange_.finish_gather(exchange_deadline());
  if (!numbers) return;
  outcome_.has_all_sums = true;
  total_loss_ = take_numbers(*numbers, epoch_, outcome_);
  find_doubt(*numbers);
  outcome_.time = unix_time_now_s();
  outcome_.loss = total_loss_ / agreed.tokens;
  outcome_.grad_norm = std::sqrt(agreed.squares) / agreed.tokens;
  outcome_.lr = agreed.learning_rate;
  outcome_.squares = std::bit_cast<std::uint64_t>(agreed.squares);
  outcome_.sums = agreed.placed_squares;
  outcome_.digest = own_.digest;
}

// The leader's. All leaders have the same numbers. The next one in the ring that has samples of its own verifies.
void ReplicaSession::find_doubt(const std::vector<double>& numbers) {
  std::vector<OwnNorm> norms;
  for (std::size_t i = 0; i < epoch_.members.size(); ++i) {
    const double* const of_member = &numbers[i * kVoteNumbers];
    const auto part = only_part(plan_.parts, epoch_.members[i].id.replica);
    norms.push_back({part ? part->count : 0, of_member[kSquares], of_member[kUsual]});
  }
  const auto index = doubtful(norms);
  if (!index) return;
  for (std::size_t i = *index + 1; i < *index + norms.size(); ++i) {
    const std::size_t next = i % norms.size();
    if (norms[next].samples == 0) continue;
    const int replica = epoch_.members[*index].id.replica;
    doubt_ = {replica, epoch_.members[next].id.replica, *only_part(plan_.parts, replica)};
    doubted_ = own_squares(&numbers[*index * kVoteNumbers]);
    return;
  }
}

// The leader's. A member that a death leaves without the verifier's word lacks the step's result.
void ReplicaSession::judge(const OwnSquares& again) {
  VoteNumbers numbers{};
  put(again, numbers);
  exchange_.start_gather(numbers, 1);
  const auto all = exchange_.finish_gather(exchange_deadline());
  if (!all) {
    outcome_ = {.why = exchange_.failure() ? exchange_.failure()->sentence : ""};
    return;
  }
  for (std::size_t i = 0; i < epoch_.members.size(); ++i) {
    if (epoch_.members[i].id.replica != doubt_->verifier) continue;
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

// Collective: what the leader knows.
StepTotals ReplicaSession::tell_ranks(bool is_final) {
  StepTotals totals;
  if (leader_ && may_vote_ && is_final) totals.updates = leader_->on_vote(outcome_);
  std::vector<double> sums(5, 0.0);
  if (leader_ && may_vote_) {
    sums = {outcome_.has_all_sums ? 1.0 : 0.0, totals.updates ? 1.0 : 0.0, total_loss_,
            is_final ? 0.0 : doubt_->replica + 1.0, is_final ? 0.0 : static_cast<double>(doubt_->verifier)};
  }
  control_.all_reduce_sum(sums);
  totals.is_complete = sums[0] > 0;
  totals.updates = sums[1] > 0;
  totals.loss = sums[2];
  doubt_.reset();
  if (sums[3] > 0) {
    const int replica = static_cast<int>(sums[3]) - 1;
    doubt_ = {replica, static_cast<int>(sums[4]), *only_part(plan_.parts, replica)};
  }
  totals.doubt = doubt_;
  if (plan_.is_behind && totals.updates) finish_join();
  return totals;
}

StepTotals ReplicaSession::conclude(const Agreed& agreed) {
  points_.reach(StepPoint::vote, plan_.step);
  doubt_.reset();
  total_loss_ = 0;
  if (leader_ && may_vote_) vote(agreed);
  return tell_ranks(!doubt_);
}

StepTotals ReplicaSession::settle(const OwnSquares& again) {
  if (leader_) judge(again);
  return tell_ranks(true);
}

void ReplicaSession::end_fetch() {
  if (fetch_) fetched_bytes_ += static_cast<double>(fetch_->bytes());
  fetch_.reset();
}

// Collective: the replica has caught up. The fetch stays until before_update().
void ReplicaSession::finish_join() {
  double bytes = fetched_bytes_ + (fetch_ ? static_cast<double>(fetch_->bytes()) : 0);
  control_.all_reduce_sum(std::span(&bytes, 1));
  if (leader_)
    leader_->on_joined({.state_s = fetch_ ? fetch_->completed_s() - *behind_since_s_ : 0,
                        .held_s = held_s_,
                        .bytes = static_cast<std::int64_t>(bytes),
                        .sources = fetch_ ? fetch_->useful_sources() : 0});
  behind_since_s_.reset();
}

void ReplicaSession::on_restored(std::int64_t done, std::int64_t next_sample) {
  if (leader_) leader_->on_restored(done, next_sample);
}

void ReplicaSession::on_saved(const Saved& saved) {
  if (leader_) leader_->on_saved(saved);
}

void ReplicaSession::on_validated(const Validated& validated) {
  if (leader_) leader_->on_validated(validated);
}

void ReplicaSession::on_observed(const Observed& observed) {
  if (leader_) leader_->on_observed(observed);
}

void ReplicaSession::ask_stop() {
  if (leader_) leader_->ask_stop();
}

}  // namespace tenax::resilience
