// MembershipServer: the membership service as the replicas reach it: its links, its clock, its
// records.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/failure.hpp"
#include "comm/messages/message_server.hpp"
#include "resilience/membership/membership_service.hpp"

namespace tenax::resilience {

/// One thread, the message server's, from construction to destruction. What it stores and tells
/// of is handed out there, in order. Thread rule: any thread, but destruction.
class MembershipServer : private comm::MessageHandler {
 public:
  struct Options {
    MembershipOptions membership;
    comm::MessageServerOptions messages;
    double heartbeat_s = 0.1;
  };
  /// Called on the service's thread, which waits; they must not call back. Errors that they throw
  /// end the service: failure().
  struct Observer {
    std::function<void(const Record&)> on_record;
    std::function<void(const ServiceEvent&)> on_event;
  };
  /// `stored`: all that `store` has, which must outlive it; nobody else uses it. Throws kernels::Error
  /// where it cannot listen, or the records contradict themselves.
  MembershipServer(Options options, RecordStore& store, const std::vector<Record>& stored, Observer observer);

  std::vector<std::string> addresses() const { return server_.addresses(); }
  /// All replicas that may live have its addresses: MembershipService's.
  void on_all_told();
  void on_exit(ReplicaId id);
  void on_hang(ReplicaId id, int rank);
  void on_started(ReplicaId id);
  void on_given_up(int replica);
  void wish_stop();
  /// A replica has ended with status 0, which none does before it is told.
  void on_run_ended();
  /// False: the spare is not ready any more.
  bool call_spare(int spare, ReplicaId id);
  void on_zone(int replica, const std::string& zone);
  void on_validation_recorded(std::int64_t done);
  void on_join_recorded(ReplicaId id, std::int64_t epoch);
  void on_observation_recorded(ReplicaId id, std::int64_t number);
  /// MembershipService's.
  void on_checkpoints_settled();
  /// The run is over: its members have been told.
  bool has_ended() const;
  /// MembershipService's.
  bool has_told_stop() const;
  /// MembershipService's.
  bool has_refused(ReplicaId id) const;
  /// What ended the service; the members train on without it until they need it.
  std::optional<comm::Failure> failure() const;

 private:
  void on_open(comm::MessagePeerId, const std::string&) override {}
  void on_message(comm::MessagePeerId peer, const std::string& text) override;
  void on_close(comm::MessagePeerId peer, const std::string& reason) override;
  void on_time() override;
  /// Lets the service work, then does what it wants done.
  void run(const std::function<void(double now)>& work);
  /// False: the store does not take the records yet.
  bool carry_out(const ServiceOutput& output);
  void sync();

  const double heartbeat_s_;
  RecordStore& store_;
  Observer observer_;
  mutable std::mutex mutex_;  // of what follows
  MembershipService service_;
  std::optional<comm::Failure> failure_;
  std::deque<ServiceOutput> pending_;  // what the store does not take yet, and what came after it
  bool is_unsynced_ = false;
  double synced_s_ = 0;
  comm::MessageServer server_;  // last: its thread uses all the rest
};

}  // namespace tenax::resilience
