// Records: what the membership service must not forget. They are the lines of `ledger.jsonl`, in
// its order; a service that starts again begins from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "resilience/membership/epoch.hpp"
#include "resilience/membership/state_digest.hpp"
#include "resilience/membership/state_vote.hpp"

namespace tenax::resilience {

/// What a step took a replica; 0 = not known.
struct MemberTimes {
  int replica = 0;
  double iteration_s = 0;  ///< its waiting for others apart
  /// What the exchange took from its ranks to those of the member after it (comm::LinkTransfers), all
  /// ranks together.
  double exchange_s = 0;

  bool operator==(const MemberTimes&) const = default;
};

/// A step is complete: its samples count as trained.
struct CommitRecord {
  double time = 0;  ///< UNIX seconds, by the replica that completed it
  std::int64_t step = 0, epoch = 0;
  std::int64_t first_sample = 0;
  std::vector<Part> parts = {};            ///< tile the step's samples
  double loss = 0, grad_norm = 0, lr = 0;  ///< NaN where there is none (emulated device)
  std::uint64_t squares = 0;               ///< the bits of Σg², by which replicas are compared
  PlacedSum sums = {};                     ///< of the bits of each place's; the ledger does not keep it
  /// Of a slice of the state with which the step began (replicas.digest_steps); absent where the sender has none. Read from the
  /// ledger it has its checksum alone.
  std::optional<StateDigest> digest = {};
  /// What the step took the slowest of those that computed it, with the exchange between them. 0 = not
  /// known. The ledger does not keep it.
  double iteration_s = 0;
  std::vector<MemberTimes> members = {};  ///< of the epoch, in ring order; not kept either
  bool is_masked = false;                 ///< something else than training took part of that time
  bool is_crowded = false;                ///< some of them share cores: their times say less
};

/// An epoch was decided.
struct EpochRecord {
  struct Member {
    ReplicaId id;
    std::string host;

    bool operator==(const Member&) const = default;
  };

  double time = 0;  ///< UNIX seconds
  std::int64_t epoch = 0, from_step = 0;
  std::vector<Member> members = {};  ///< in ring order
  EpochReason reason = EpochReason::start;
};

/// The commits of steps ≥ void_from before this record do not count: nobody alive has their state.
struct VoidRecord {
  double time = 0;  ///< UNIX seconds
  std::int64_t void_from = 0;
  std::int64_t epoch = 0;  ///< the last one before
};

/// What a replica summed over its own samples is wrong: another has computed them again. Nothing was committed.
struct Accusation {
  int replica = -1;
  CorruptBy by = CorruptBy::norm;
  PlacedSum right = {}, wrong = {};  ///< of the bits of Σg² of each place: computed again; its own
};

using Record = std::variant<CommitRecord, EpochRecord, VoidRecord>;

/// Where the service's driver keeps records: a file, or a service that replicates them.
class RecordStore {
 public:
  virtual ~RecordStore() = default;
  /// Adds records in order. They outlive this process, but not yet the host. False: not yet; the
  /// same records are to be handed in again, before any others. Throws kernels::Error(job).
  virtual bool append(const std::vector<Record>& records) = 0;
  /// Returns when all that was appended outlives the host as well. Throws kernels::Error(job).
  virtual void sync() = 0;
  /// All that was stored before this object was made, in order. Called once.
  virtual std::vector<Record> load() = 0;
};

}  // namespace tenax::resilience
