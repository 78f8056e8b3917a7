// RunStanding: a supervisor among those of its run: it waits, or is in charge.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/console.hpp"
#include "app/launch/store_link.hpp"
#include "io/deck/deck.hpp"
#include "resilience/etcd/lease_keeper.hpp"
#include "resilience/etcd/run_lease.hpp"

namespace tenax::app {

/// Where a run's records are in etcd, any number of supervisors may be started. One is in charge.
/// The others touch nothing, and the first to see its lease end takes the run over; at once where the one in
/// charge was a process of the same host and is dead, as when a killed supervisor is started again. Used by
/// one thread.
class RunStanding {
 public:
  /// Null where records are in a file alone. Throws as StoreLink::of().
  static std::unique_ptr<RunStanding> of(const io::Deck& deck);

  /// Returns nothing when this supervisor is in charge; else how the run ended while it waited, by no
  /// host where `gives_up` said so. Throws Error(link) where etcd does not answer at first, Error(job) where
  /// it refuses or the keys are another run's.
  std::optional<resilience::RunEnd> take_charge(const std::function<bool()>& gives_up, Console& console);

  /// The one before has vanished.
  bool takes_over() const { return takes_over_; }
  /// This one waited as a standby.
  bool has_waited() const { return predecessor_.has_value(); }
  /// Before take_lease(): throws Error(job) once another is in charge.
  void check_in_charge() {
    if (keeper_) keeper_->check();
  }
  /// Whoever takes it keeps it from now on; until then it is kept here. Again: the same.
  resilience::RunLease& take_lease();

 private:
  RunStanding(std::unique_ptr<StoreLink> store, const io::Deck& deck);
  enum class Look { leads, waits, ended };
  Look look(Console& console);
  void check_directory(const std::string& other) const;

  std::unique_ptr<StoreLink> store_;
  resilience::RunLease lease_;
  std::optional<resilience::LeaseKeeper> keeper_;  // in charge, until the lease is taken
  std::optional<resilience::Claim> predecessor_;   // seen while it lived
  std::optional<resilience::RunEnd> end_;
  bool takes_over_ = false;
};

}  // namespace tenax::app
