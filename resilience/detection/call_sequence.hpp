// CallSequence: a call log as a sequence of numbers, in which a period can be looked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/run/call_log.hpp"

namespace tenax::resilience {

/// What is taken for iterations holds at least this share of a log's calls, and this share of those from its first to its last.
inline constexpr double kLeastShare = 0.5, kLeastShareWithin = 0.75;

/// Calls that count as the same.
struct CallSymbol {
  std::int64_t bytes = 0;  ///< the most that one of them has
  bool is_exact = true;    ///< all have the same number of bytes
  bool operator==(const CallSymbol&) const = default;
};

struct CallSequence {
  std::vector<std::uint32_t> of_call;  ///< the symbol of each call, an index into `symbols`
  std::vector<CallSymbol> symbols;
};

/// Calls of one name in groups of one size: their bytes alone tell them apart.
using CallGroup = std::pair<std::string, std::int64_t>;

/// Whether calls of the symbols `own` are an iteration though the `other` ones come now and then: it
/// has three kinds of calls or more, and no exact symbol that it lacks has four times the bytes of
/// its largest. Else it is a microbatch, and what comes after many of them has the gradients.
bool is_iteration(const CallSequence& sequence, const std::set<std::uint32_t>& own,
                  const std::set<std::uint32_t>& other);
/// Those among calls [begin, end).
std::set<std::uint32_t> symbols_among(const CallSequence& sequence, std::size_t begin, std::size_t end);

/// A symbol for each kind of call. Where bytes differ from time to time they tell nothing: kinds
/// that occur less than three times, and all of the groups in `erratic`, count as one symbol a
/// group.
CallSequence call_sequence(const io::CallLog& log, const std::set<CallGroup>& erratic = {});

}  // namespace tenax::resilience
