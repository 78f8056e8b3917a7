// RunLease: of the supervisors of a run one is in charge, as long as it keeps a lease of etcd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "resilience/etcd/etcd_client.hpp"
#include "resilience/etcd/run_keys.hpp"

namespace tenax::resilience {

/// Who wants to be, or is, in charge.
struct Claim {
  std::string host;
  std::int64_t pid = 0;
  std::int64_t start_time = 0;  ///< of the process: no later one with its number is taken for it
  std::string machine = "";     ///< where processes have these numbers; empty: unknown
  std::string run_directory;
  std::string id;  ///< drawn anew by each process

  std::string text() const;
  static Claim parse(const std::string& text);
};

/// How the run ended under the supervisor that was in charge.
struct RunEnd {
  std::string host, reason;  ///< "completed", "signal", "time_limit" or "failed"
  int status = 0;

  std::string text() const;
  static RunEnd parse(const std::string& text);
};

/// Errors are the EtcdClient's. Thread rule: one thread at a time.
class RunLease {
 public:
  struct Options {
    RunKeys keys;
    Claim claim;
    std::int64_t lease_s = 5;
  };
  /// `client` must outlive it.
  RunLease(Options options, EtcdClient& client) : options_(std::move(options)), client_(client) {}

  struct View {
    std::optional<Claim> leader;
    std::int64_t term = 0;      ///< the leader's
    std::optional<RunEnd> end;  ///< where there is no leader
  };
  View look();
  /// Takes charge where nobody has it; what is said of an earlier end is removed. True: this one has.
  bool campaign();
  /// Takes charge away from a leader that is known to be dead, before its lease ends: nobody has it then. Nothing where another
  /// is in charge by now. Were that leader alive, it could write nothing any more.
  void depose(std::int64_t term);
  /// Before the lease ends. False: it has ended; another may be in charge.
  bool keep();
  /// In order: others are told, and may take charge.
  void release(const RunEnd& end);

  /// What every transaction of the one in charge begins with: it still is.
  EtcdCondition condition() const {
    return {.key = options_.keys.leader(), .value = {}, .create_revision = term_};
  }
  const RunKeys& keys() const { return options_.keys; }
  const Claim& claim() const { return options_.claim; }
  std::int64_t lease_s() const { return options_.lease_s; }
  EtcdClient& client() { return client_; }

 private:
  bool adopt_term();

  Options options_;
  EtcdClient& client_;
  std::int64_t lease_ = 0, term_ = 0;
};

}  // namespace tenax::resilience
