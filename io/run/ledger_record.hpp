// What a line of ledger.jsonl says: which samples a step of a run of replicas had, who its members
// were, and which steps do not count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenax::io {

/// A step that was completed. Samples are numbered without end from 0 (io/tokens/window_order.hpp).
struct LedgerCommit {
  struct Part {
    std::int64_t replica = 0, first = 0, count = 0;  ///< samples [first, first + count)
    bool operator==(const Part&) const = default;
  };
  std::int64_t step = 0, epoch = 0;  ///< epoch: the one in which it was finished
  std::int64_t first_sample = 0, samples = 0;
  std::vector<Part> parts;                 ///< together [first_sample, first_sample + samples)
  double loss = 0, grad_norm = 0, lr = 0;  ///< not-a-number where there is none
  std::uint64_t squares = 0;               ///< the bits of the double Σg², equal on all replicas
  /// A checksum of a slice of the state with which the step began, likewise; absent where none was made.
  std::optional<std::uint64_t> digest = {};
};

/// Members that train together from a step on.
struct LedgerEpoch {
  struct Member {
    std::int64_t replica = 0, incarnation = 0;
    std::string host;
    bool operator==(const Member&) const = default;
  };
  std::int64_t epoch = 0, from_step = 0;
  std::vector<Member> members;  ///< in ring order
  std::string reason;           ///< "start", "lost", "join", "leave"
};

/// Commits of steps ≥ void_from that stand before this line do not count: their state is lost.
struct LedgerVoid {
  std::int64_t void_from = 0, epoch = 0;
};

struct LedgerRecord {
  double time_s = 0;  ///< UNIX time when it was decided
  std::variant<LedgerCommit, LedgerEpoch, LedgerVoid> what;
};

/// The line of a record, without its line end. `previous`: chain_text() of the line before.
std::string ledger_line(const LedgerRecord& record, const std::string& previous);
/// What `previous` is after `line`; after nothing, sixteen zeros.
std::string chain_text(std::string_view line);

struct LedgerLine {
  LedgerRecord record;
  std::string previous;
};
/// Reads a line. Throws Error(rank) with a sentence that names no file when it is not JSON, lacks a
/// member, has one that no record has, or one whose value cannot be.
LedgerLine parse_ledger_line(std::string_view line);

}  // namespace tenax::io
