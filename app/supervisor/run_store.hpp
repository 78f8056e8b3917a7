// RunStore: where a supervisor keeps its run's records: the ledger, alone or with etcd before it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/supervisor/run_standing.hpp"
#include "resilience/etcd/etcd_store.hpp"
#include "resilience/replicas/ledger_store.hpp"

namespace tenax::app {

/// Without etcd, a supervisor is in charge as long as it lives: it holds the run's lock. Used by one
/// thread, but for records(), which the membership service uses.
class RunStore {
 public:
  /// `standing`: in charge, or null where records are in the ledger alone. It outlives this.
  explicit RunStore(RunStanding* standing) : standing_(standing) {}

  /// Continues the run's ledger, or begins one. Throws as LedgerStore().
  void open(const std::string& run_directory);
  /// Where the run has steps that its ledger lacks, a new one begins, and what etcd has of the old one is removed.
  /// Returns where the old ledger is kept; nothing where there was none. Throws as open(), and Error(job) once another
  /// supervisor is in charge.
  std::optional<std::filesystem::path> begin_anew(const std::string& run_directory);
  /// Of the open store.
  resilience::RecordStore& records();

  /// The supervisor before this one has vanished, and this one takes its place.
  bool takes_over() const { return standing_ && standing_->takes_over(); }
  /// Another supervisor may take the run over while this one lives.
  bool has_rivals() const { return standing_ != nullptr; }
  /// This supervisor waited as a standby.
  bool has_waited() const { return standing_ && standing_->has_waited(); }
  /// Another supervisor is in charge.
  bool is_deposed() const { return etcd_ && etcd_->is_deposed(); }
  /// Throws kernels::Error(job) once another is in charge. Before open() it asks etcd.
  void check_in_charge();
  /// The run has ended, in order or not: other supervisors need not take it over.
  void release(const std::string& reason, int status);

  /// Where the membership service is, for leaders to find.
  void set_service(const std::vector<std::string>& addresses);
  /// What a successor needs to know of replicas and hosts (counts_text()). Says once that etcd does not
  /// answer.
  void publish(const std::string& replicas, Console& console);
  /// What the last supervisor has published; empty where none has.
  std::string published() const { return etcd_ ? etcd_->stored_replicas() : std::string{}; }

 private:
  RunStanding* standing_;
  std::unique_ptr<resilience::LedgerStore> ledger_;
  std::unique_ptr<resilience::EtcdStore> etcd_;  // null where records are in the ledger alone
};

}  // namespace tenax::app
