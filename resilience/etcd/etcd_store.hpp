// EtcdStore: the membership service's records in the run's ledger, and what nobody may decide twice
// in etcd.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "resilience/etcd/run_lease.hpp"
#include "resilience/replicas/ledger_store.hpp"

namespace tenax::resilience {

/// Each epoch is in etcd before it is in the ledger. Steps are in the ledger alone, and their number
/// once a second in etcd. Every transaction demands that this supervisor is still in charge and that
/// the newest epoch is the one it knows. A thread of its own talks to etcd and keeps the lease, from
/// load() to destruction: nobody else waits for etcd. While etcd is away, steps are recorded as
/// before, and epochs wait.
///
/// Thread rule: as a RecordStore, one thread; the rest, any thread.
class EtcdStore final : public RecordStore {
 public:
  /// `lease` is held. Both outlive it; nobody else uses them.
  EtcdStore(RunLease& lease, LedgerStore& ledger) : lease_(lease), ledger_(ledger) {}
  ~EtcdStore() override { stop(); }
  EtcdStore(const EtcdStore&) = delete;
  EtcdStore& operator=(const EtcdStore&) = delete;

  /// False while an epoch is on its way to etcd. Throws Error(job) once another is in charge.
  bool append(const std::vector<Record>& records) override;
  void sync() override;
  /// Epochs that a crash of the host has cost the ledger come from etcd. An empty ledger begins a new
  /// run: what etcd has of an older one is removed.
  std::vector<Record> load() override;

  /// Where the membership service is, for leaders to find.
  void set_service(const std::vector<std::string>& addresses);
  /// What a successor needs to know of replicas and hosts, JSON.
  void set_replicas(const std::string& text);
  /// As the last supervisor had set them before load(); empty where none has.
  const std::string& stored_replicas() const { return stored_replicas_; }

  /// Throws Error(job) once another is in charge.
  void check_in_charge();
  bool is_deposed() const;
  /// Something to say, once: etcd does not answer, or does again.
  std::optional<std::string> take_notice();
  /// In order. Waits a few seconds at most for what is to be written; errors are passed over.
  void release(const RunEnd& end);

 private:
  /// The small keys: what they shall say, and what they say.
  struct Written {
    std::string service = {}, replicas = {}, head = {};
    bool operator==(const Written&) const = default;
  };

  std::optional<std::string> value_of(const std::string& key);
  void begin_run();
  std::vector<Record> newer_epochs(std::int64_t from);
  void commit_or_throw(EtcdTransaction transaction);
  void note(const Record& record);
  void stop();

  // The thread's.
  void run();
  void pass();
  void keep();
  void write();
  EtcdTransaction transaction(const Written& wanted, const std::optional<EpochRecord>& epoch) const;
  /// A transaction was refused, or its reply lost. True: it had been done before.
  bool resolve(const std::optional<EpochRecord>& epoch);
  void regain();
  void depose();
  void tell_away(const std::string& reason);

  RunLease& lease_;
  LedgerStore& ledger_;
  std::string stored_replicas_;
  std::int64_t known_epoch_ = 0;  // in etcd; the thread's once it runs
  double kept_s_ = 0, wrote_s_ = 0;
  Written written_;                     // the thread's
  std::int64_t done_ = 0, cursor_ = 0;  // the service's
  std::size_t appended_ = 0;            // of the records that are handed in again; the service's

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  Written wanted_;
  std::optional<EpochRecord> epoch_;  // on its way
  bool epoch_is_stored_ = false, stopping_ = false, has_told_away_ = false;
  std::string deposed_;  // why; empty: in charge
  std::optional<double> away_since_s_;
  std::optional<std::string> notice_;
  std::thread thread_;
};

}  // namespace tenax::resilience
