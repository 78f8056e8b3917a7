#include "resilience/replicas/replica_leader.hpp"

#include "comm/worker.hpp"
#include "kernels/error.hpp"
#include "resilience/membership/message_text.hpp"

namespace tenax::resilience {

using kernels::Deadline;
using kernels::steady_now_s;

namespace {

constexpr double kConnect_s = 2, kBetweenAttempts_s = 0.1;
/// A replica that starts finds its service within so long, or it has no business here.
constexpr double kFirstLink_s = 6;

}  // namespace

ReplicaLeader::ReplicaLeader(Options options, LeaderHeartbeat& heartbeat)
    : options_(std::move(options)),
      heartbeat_(heartbeat),
      member_(options_.member),
      first_link_(Deadline::after_s(kFirstLink_s)) {
  thread_ = comm::start_prompt_thread([this] { run(); });
}

ReplicaLeader::~ReplicaLeader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (link_) link_->wake();
  }
  changed_.notify_all();
  thread_.join();
}

// Messages that cannot leave are lost with the link: the member says what matters again on the next one.
void ReplicaLeader::flush() {
  for (const MemberMessage& message : member_.take_messages()) tell(message);
  heartbeat_.freeze(member_.frozen_epoch());
  changed_.notify_all();
}

void ReplicaLeader::tell(const MemberMessage& message) try {
  if (link_) link_->send(to_text(message));
} catch (const kernels::Error&) {
  link_->wake();
}

template <class Work>
auto ReplicaLeader::with_member(Work work) {
  const std::lock_guard lock(mutex_);
  struct Flush {
    ReplicaLeader& leader;
    ~Flush() { leader.flush(); }
  } flush{*this};
  return work(member_);
}

void ReplicaLeader::run() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    if (has_left_) return wait_hopeless();
    try {
      connect();
      listen();
    } catch (const kernels::Error& error) {  // no service; it may come back
      const std::lock_guard lock(mutex_);
      if (!has_connected_ && first_link_.expired())
        end_ = std::string("it found no membership service: ") + error.what();
    }
    disconnect();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(kBetweenAttempts_s), [&] { return stopping_; });
    member_.on_time(steady_now_s());
    flush();
  }
}

// A supervisor that stands still loses nobody. One whose host is dead says nothing: leave_silent_service() looks for
// another, and a member that needs one waits no longer than service_wait_s.
void ReplicaLeader::connect() {
  service_ = options_.find_service();
  std::shared_ptr<comm::MessageLink> link =
      options_.connect({.secret = options_.secret,
                        .addresses = service_,
                        .purpose = "replica." + std::to_string(options_.member.id.replica),
                        .deadline = Deadline::after_s(kConnect_s),
                        .is_patient = true});
  const std::lock_guard lock(mutex_);
  link_ = std::move(link);
  has_connected_ = true;
  const double missed_s = member_.missed_service_s(steady_now_s());
  member_.on_connected(steady_now_s());
  flush();
  if (missed_s > options_.member.heartbeat_s) tell(ServiceMissed{missed_s});
}

void ReplicaLeader::listen() {
  double heard_s = steady_now_s();
  while (true) {
    const auto text = link_->receive(Deadline::after_s(options_.member.heartbeat_s));
    std::optional<ServiceMessage> message;
    if (text) message = parse_service_message(*text);
    if (text) heard_s = steady_now_s();
    leave_silent_service(heard_s);
    const auto silent = heartbeat_.silent_rank(options_.dead_s);
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (silent) {
      end_ = "a rank of this replica is silent";
      heartbeat_.freeze(FrozenEpoch::kAll);
      tell(RankLost{.rank = silent->rank,
                    .host = options_.hosts.at(static_cast<std::size_t>(silent->rank)),
                    .silent_s = silent->silent_s,
                    .is_gone = silent->is_gone});
      throw kernels::Error(kernels::Scope::replica, "rank " + std::to_string(silent->rank) + " is silent");
    }
    if (message) member_.on_message(*message, steady_now_s());
    member_.on_time(steady_now_s());
    flush();
  }
}

// It answers each beat. A supervisor that has stopped, or is cut off, closes nothing.
void ReplicaLeader::leave_silent_service(double& heard_s) const {
  if (steady_now_s() - heard_s < options_.dead_s) return;
  heard_s = steady_now_s();  // to ask again after as long
  if (options_.find_service() != service_)
    throw kernels::Error(kernels::Scope::link, "the membership service is elsewhere");
}

void ReplicaLeader::disconnect() {
  const std::lock_guard lock(mutex_);
  if (link_) member_.on_disconnected();
  link_.reset();
  // Out of the run for good: nobody may take it for a living one.
  has_left_ = !end_.empty();
}

void ReplicaLeader::wait_hopeless() {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> interval(options_.member.heartbeat_s);
  while (!changed_.wait_for(lock, interval, [&] { return stopping_; })) options_.when_hopeless();
}

StepOrder ReplicaLeader::begin_next(Deadline deadline) {
  std::unique_lock lock(mutex_);
  StepOrder order;
  changed_.wait_until(lock, deadline.when(), [&] {
    order.plan = member_.plan();
    return order.plan.action != MemberPlan::Action::wait || !end_.empty();
  });
  if (!end_.empty()) order.plan = {.action = MemberPlan::Action::exit, .status = 1, .reason = end_};
  if (order.plan.action != MemberPlan::Action::train) return order;
  member_.begin_step();
  order.epoch = *member_.epoch();
  return order;
}

bool ReplicaLeader::begin_vote() {
  return with_member([](MembershipMember& member) { return member.begin_vote(); });
}

bool ReplicaLeader::is_whole() const {
  const std::lock_guard lock(mutex_);
  return member_.progress().is_whole();
}

void ReplicaLeader::on_fetched(std::int64_t step) {
  with_member([&](MembershipMember& member) { member.on_fetched(step); });
}

// A commit that the writer sends too leaves with the next heartbeat: here the replicas still take the step, and wait for
// their processors.
bool ReplicaLeader::on_vote(const StepOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  const bool updates = member_.on_vote(outcome);
  if (member_.has_urgent_messages()) flush();
  return updates;
}

void ReplicaLeader::on_restored(std::int64_t done, std::int64_t next_sample) {
  with_member([&](MembershipMember& member) { member.on_restored(done, next_sample); });
}

void ReplicaLeader::on_saved(const Saved& saved) {
  with_member([&](MembershipMember& member) { member.on_saved(saved); });
}

void ReplicaLeader::on_validated(const Validated& validated) {
  with_member([&](MembershipMember& member) { member.on_validated(validated); });
}

void ReplicaLeader::on_observed(const Observed& observed) {
  with_member([&](MembershipMember& member) { member.on_observed(observed); });
}

void ReplicaLeader::on_joined(const Joined& joined) {
  with_member([&](MembershipMember& member) { member.on_joined(joined); });
}

bool ReplicaLeader::run_stops() const {
  const std::lock_guard lock(mutex_);
  return member_.run_stops();
}

std::vector<CommitRecord> ReplicaLeader::unrecorded() const {
  const std::lock_guard lock(mutex_);
  const auto& commits = member_.unacked().all();
  return {commits.begin(), commits.end()};
}

void ReplicaLeader::ask_stop() {
  with_member([](MembershipMember& member) { member.ask_stop(); });
}

}  // namespace tenax::resilience
