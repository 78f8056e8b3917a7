#include "resilience/replicas/replica_session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
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

/// An exchange that stands still ends before, and says who is at fault.
constexpr double kExchangeWait = 1.5;

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
      frozen_(frozen),
      state_(std::move(state)),
      points_(points),
      options_(std::move(options)),
      exchange_(transport, device, [&] {
        comm::FtarOptions exchange = options_.exchange;
        exchange.frozen_epoch = &frozen.word();
        return exchange;
      }()) {
  if (leader_)
    vote_.emplace(*leader_, exchange_,
                  ReplicaVote::Waits{.longest_s = kExchangeWait * options_.exchange.deadline_s,
                                     .join_s = options_.join_wait_s,
                                     .verifier_s = longest_exchange_s()});
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

// A holder's state stands still until before_update(); who is behind asks holders for it.
void ReplicaSession::begin_state(const MemberPlan& plan) {
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
  is_put_ = false;
  if (state_.release) state_.release([this] { on_saving(); });
  fetch_ = std::make_unique<StateFetch>(*state_.slices, state_transport_, holders, points_,
                                        StateFetch::Options{.done = plan.step,
                                                            .purpose = state_purpose(),
                                                            .deadline_s = options_.deadline_s,
                                                            .bytes_per_s = options_.state_bytes_per_s,
                                                            .turn = turn_of_fetch()});
}

// An epoch that the ranks know already travels by its number alone.
StepWork ReplicaSession::begin() {
  if (std::exchange(has_updated_, false)) points_.reach(StepPoint::commit, plan_.step);
  StepOrder order;
  do {
    std::string text;
    if (leader_) {
      order = leader_->begin_next(one_turn());
      const bool is_new = order.plan.action == Action::train && order.plan.epoch != epoch_.number;
      text = order.text(is_new);
    }
    order = StepOrder::parse(control_.broadcast(text, 0));
    if (order.plan.action == Action::wait) ask_stop_if_any();
  } while (order.plan.action == Action::wait);
  plan_ = order.plan;
  settle_fetch();
  if (plan_.action == Action::train) {
    if (epoch_.number == 0) points_.reach(StepPoint::join, plan_.step);
    if (plan_.epoch != epoch_.number) take_epoch(order.epoch);
    begin_state(plan_);
    exchange_.begin_step(plan_.step);
    if (vote_) vote_->begin_step(epoch_, plan_);
    points_.reach(StepPoint::passes, plan_.step);
  }
  return {.plan = plan_, .replica = options_.replica, .is_writer = epoch_.writer == options_.replica};
}

// Collective. A step in which the state was fetched may not have become complete: then this replica holds it all the same,
// and nobody has put it into place. What is not to be kept ends: its threads write into the state.
void ReplicaSession::settle_fetch() {
  const bool is_whole = plan_.action == Action::save || plan_.action == Action::give_up ||
                        (plan_.action == Action::train && !plan_.is_behind);
  if (is_whole) keep_state();
  end_fetch();
}

// Collective. Between steps no vote tells of signals, nor while it is waited for. True: the run stops, as the leader knows.
bool ReplicaSession::ask_stop_if_any() {
  std::array<double, 2> wishes = {options_.must_stop && options_.must_stop() ? 1.0 : 0.0,
                                  run_stops() ? 1.0 : 0.0};
  control_.all_reduce_sum(wishes);
  if (wishes[0] > 0 && !std::exchange(has_asked_stop_, true)) ask_stop();
  return wishes[1] > 0;
}

void ReplicaSession::put_fetched() {
  if (state_.put) state_.put();
  is_put_ = true;
}

void ReplicaSession::keep_state() {
  if (!fetch_ || is_put_) return;
  put_fetched();
  state_.publish();
}

void ReplicaSession::before_update() {
  if (server_) server_->close();
  if (fetch_) put_fetched();
  points_.reach(StepPoint::update, plan_.step);
  has_updated_ = true;
}

// Collective: a rank may wait longer for another replica than this replica's ranks may for each other.
void ReplicaSession::wait_in_turns(const std::function<bool(Deadline)>& is_over) {
  for (double waiting = 1; waiting > 0;) {
    waiting = is_over(one_turn()) ? 0 : 1;
    control_.all_reduce_sum(std::span(&waiting, 1));
  }
}

Deadline ReplicaSession::one_turn() const {
  return Deadline::after_s(comm::turn_seconds(options_.deadline_s));
}

// With another replica that computes meanwhile.
double ReplicaSession::longest_exchange_s() const {
  return kExchangeWait * std::max(options_.exchange.deadline_s, options_.exchange.longest_s);
}

// Collective: those of the leaders. Somebody may wait for a state, which the run's end cuts short.
void ReplicaSession::wait_for_numbers() {
  wait_in_turns([&](Deadline turn) {
    ask_stop_if_any();
    return !vote_ || vote_->has_numbers(turn);
  });
}

// Collective.
bool ReplicaSession::finish_pieces() {
  const auto latest = Deadline::after_s(longest_exchange_s());
  wait_in_turns([&](Deadline turn) { return exchange_.are_over(turn) || latest.expired(); });
  return exchange_.finish(one_turn());
}

// Whether a replica that is behind will hold the state is known only when it has been waited for.
bool ReplicaSession::wait_for_pieces(const OwnShare& own) {
  points_.reach(StepPoint::exchange, plan_.step);
  if (vote_) vote_->begin(own);
  const bool has_sums = finish_pieces();
  if (plan_.is_behind) wait_for_state(has_sums);
  return has_sums;
}

// Collective: one rank may have its part long before another. A run that stops waits for no state: its members would write the
// last checkpoint only then.
void ReplicaSession::wait_for_state(bool has_sums) {
  const double begin_s = kernels::steady_now_s();
  const auto latest = Deadline::after_s(options_.join_wait_s);
  const auto waits = [&] {
    return has_sums && lacks_state() && !fetch_->has_failed() && frozen_.word() < epoch_.number &&
           !latest.expired();
  };
  wait_in_turns([&](Deadline turn) {
    while (waits() && !turn.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ask_stop_if_any() || !waits();
  });
  if (fetch_) held_s_ += kernels::steady_now_s() - begin_s;
}

// Collective: what the leader knows.
StepTotals ReplicaSession::tell_ranks(bool is_final) {
  StepTotals totals;
  const bool votes = vote_ && vote_->is_open();
  if (votes && is_final) totals.updates = vote_->finish();
  std::vector<double> sums(5, 0.0);
  if (votes)
    sums = {vote_->has_all_sums() ? 1.0 : 0.0, totals.updates ? 1.0 : 0.0, vote_->loss(),
            is_final ? 0.0 : vote_->doubt()->replica + 1.0,
            is_final ? 0.0 : static_cast<double>(vote_->doubt()->verifier)};
  control_.all_reduce_sum(sums);
  totals.is_complete = sums[0] > 0;
  totals.updates = sums[1] > 0;
  totals.loss = sums[2];
  if (sums[3] > 0) {
    const int replica = static_cast<int>(sums[3]) - 1;
    totals.doubt = Doubt{replica, static_cast<int>(sums[4]), *only_part(plan_.parts, replica)};
  }
  if (plan_.is_behind && totals.updates) finish_join();
  return totals;
}

// Collective: how many ranks lack sums because of each replica of the ring. A path between two hosts may be broken that the
// leaders do not use.
std::vector<double> ReplicaSession::count_accusers() {
  std::vector<double> accusers(epoch_.members.size(), 0.0);
  const auto& failure = exchange_.failure();
  if (failure && failure->peer >= 0 && failure->peer < static_cast<int>(accusers.size()))
    accusers[static_cast<std::size_t>(failure->peer)] = 1;
  control_.all_reduce_sum(accusers);
  return accusers;
}

StepTotals ReplicaSession::conclude(const AgreedStep& agreed) {
  points_.reach(StepPoint::vote, plan_.step);
  if (vote_) vote_->tell(agreed);
  if (agreed.has_all_sums && is_somebody_behind(plan_)) wait_for_numbers();
  const std::vector<double> accusers = agreed.has_all_sums ? std::vector<double>() : count_accusers();
  if (vote_) vote_->conclude(agreed, accusers);
  return tell_ranks(!vote_ || !vote_->doubt());
}

StepTotals ReplicaSession::settle(const OwnSquares& again) {
  if (vote_) vote_->tell_again(again);
  wait_for_numbers();
  if (vote_) vote_->settle();
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

std::vector<CommitRecord> ReplicaSession::unrecorded() const {
  return leader_ ? leader_->unrecorded() : std::vector<CommitRecord>{};
}

}  // namespace tenax::resilience
