#include "resilience/replicas/membership_server.hpp"

#include "kernels/deadline.hpp"
#include "resilience/membership/message_text.hpp"

namespace tenax::resilience {

using kernels::Deadline;
using kernels::steady_now_s;

MembershipServer::MembershipServer(Options options, RecordStore& store, const std::vector<Record>& stored,
                                   Observer observer)
    : heartbeat_s_(options.heartbeat_s),
      store_(store),
      observer_(std::move(observer)),
      service_(std::move(options.membership), stored, steady_now_s()),
      server_(std::move(options.messages), *this) {
  server_.run_at(Deadline::after_s(heartbeat_s_));
}

void MembershipServer::on_all_told() {
  run([&](double now) { service_.on_all_told(now); });
}

void MembershipServer::on_exit(ReplicaId id) {
  run([&](double now) { service_.on_exit(id, now); });
}

void MembershipServer::on_hang(ReplicaId id, int rank) {
  run([&](double now) { service_.on_hang(id, rank, now); });
}

void MembershipServer::on_started(ReplicaId id) {
  run([&](double now) { service_.on_started(id, now); });
}

void MembershipServer::on_given_up(int replica) {
  run([&](double now) { service_.on_given_up(replica, now); });
}

void MembershipServer::wish_stop() {
  run([&](double now) { service_.on_stop_wish(now); });
}

void MembershipServer::on_run_ended() {
  run([&](double) { service_.on_run_ended(); });
}

void MembershipServer::on_zone(int replica, const std::string& zone) {
  run([&](double) { service_.on_zone(replica, zone); });
}

bool MembershipServer::call_spare(int spare, ReplicaId id) {
  bool is_called = false;
  run([&](double) { is_called = service_.call_spare(spare, id); });
  return is_called;
}

void MembershipServer::on_validation_recorded(std::int64_t done) {
  run([&](double) { service_.on_validation_recorded(done); });
}

void MembershipServer::on_join_recorded(ReplicaId id, std::int64_t epoch) {
  run([&](double) { service_.on_join_recorded(id, epoch); });
}

void MembershipServer::on_observation_recorded(ReplicaId id, std::int64_t number) {
  run([&](double) { service_.on_observation_recorded(id, number); });
}

void MembershipServer::on_checkpoints_settled() {
  run([&](double now) { service_.on_checkpoints_settled(now); });
}

bool MembershipServer::has_ended() const {
  const std::lock_guard lock(mutex_);
  return service_.has_ended();
}

bool MembershipServer::has_told_stop() const {
  const std::lock_guard lock(mutex_);
  return service_.has_told_stop();
}

bool MembershipServer::has_refused(ReplicaId id) const {
  const std::lock_guard lock(mutex_);
  return service_.has_refused(id);
}

std::optional<comm::Failure> MembershipServer::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// What is no message of ours comes from another program that knows the secret: it is let go.
void MembershipServer::on_message(comm::MessagePeerId peer, const std::string& text) {
  std::optional<MemberMessage> message;
  try {
    message = parse_member_message(text);
  } catch (const kernels::Error&) {
    server_.close(peer);
    return on_close(peer, "it sent what is no message");
  }
  run([&](double now) { service_.on_message(static_cast<PeerId>(peer), *message, now); });
}

void MembershipServer::on_close(comm::MessagePeerId peer, const std::string&) {
  run([&](double now) { service_.on_closed(static_cast<PeerId>(peer), now); });
}

// Members keep what is not known to outlive the host, so once a second is soon enough. Nobody is late while the store holds back
// what he was asked: the service takes that time for a pause of its own.
void MembershipServer::on_time() {
  constexpr double kBetweenSyncs_s = 1;
  server_.run_at(Deadline::after_s(heartbeat_s_));
  run([&](double now) {
    if (!pending_.empty()) return;
    if (is_unsynced_ && now - synced_s_ >= kBetweenSyncs_s) sync();
    service_.on_time(now);
  });
}

void MembershipServer::run(const std::function<void(double now)>& work) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  try {
    work(steady_now_s());
    pending_.push_back(service_.take());
    while (!pending_.empty() && carry_out(pending_.front())) pending_.pop_front();
  } catch (...) {
    failure_ = comm::failure_of(std::current_exception());
  }
}

// Nobody hears of what is not stored, nor of anything that comes after it.
bool MembershipServer::carry_out(const ServiceOutput& output) {
  if (!output.records.empty()) {
    if (!store_.append(output.records)) return false;
    is_unsynced_ = true;
    for (const Record& record : output.records) observer_.on_record(record);
  }
  if (output.sync) sync();
  for (const OutgoingMessage& outgoing : output.messages) {
    const std::string text = to_text(outgoing.message);
    for (const PeerId peer : outgoing.to) server_.send(static_cast<comm::MessagePeerId>(peer), text);
  }
  for (const PeerId peer : output.closed) server_.close(static_cast<comm::MessagePeerId>(peer));
  for (const ServiceEvent& event : output.events) observer_.on_event(event);
  return true;
}

// The service means all that it has ever handed out.
void MembershipServer::sync() {
  store_.sync();
  synced_s_ = steady_now_s();
  is_unsynced_ = pending_.size() > 1;
  if (!is_unsynced_) service_.on_synced();
}

}  // namespace tenax::resilience
