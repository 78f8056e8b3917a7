#include "resilience/detection/call_sequence.hpp"

#include <algorithm>
#include <map>

namespace tenax::resilience {
namespace {

/// A period is seen three times at least, and so are its calls.
constexpr std::size_t kFewestCalls = 3;

constexpr std::size_t kFewestKinds = 3;
constexpr std::int64_t kLargerTimes = 4;

std::vector<std::size_t> counts_of_kinds(const io::CallLog& log) {
  std::vector<std::size_t> counts(log.kinds.size());
  for (const std::uint32_t kind : log.kind_of_call) ++counts[kind];
  return counts;
}

}  // namespace

bool is_iteration(const CallSequence& sequence, const std::set<std::uint32_t>& own,
                  const std::set<std::uint32_t>& other) {
  std::int64_t most_own = 1, most_other = 0;
  for (const std::uint32_t symbol : own) most_own = std::max(most_own, sequence.symbols[symbol].bytes);
  for (const std::uint32_t symbol : other)
    if (!own.count(symbol) && sequence.symbols[symbol].is_exact)
      most_other = std::max(most_other, sequence.symbols[symbol].bytes);
  return own.size() >= kFewestKinds && most_other / kLargerTimes < most_own;
}

std::set<std::uint32_t> symbols_among(const CallSequence& sequence, std::size_t begin, std::size_t end) {
  std::set<std::uint32_t> symbols;
  for (std::size_t call = begin; call < end; ++call) symbols.insert(sequence.of_call[call]);
  return symbols;
}

CallSequence call_sequence(const io::CallLog& log, const std::set<CallGroup>& erratic) {
  const std::vector<std::size_t> counts = counts_of_kinds(log);
  CallSequence sequence;
  std::map<CallGroup, std::uint32_t> symbol_of_group;
  std::vector<std::uint32_t> symbol_of_kind;
  for (std::size_t kind = 0; kind < log.kinds.size(); ++kind) {
    const auto& [name, bytes, ranks] = log.kinds[kind];
    const CallGroup group(name, ranks);
    auto symbol = static_cast<std::uint32_t>(sequence.symbols.size());
    const bool is_exact = counts[kind] >= kFewestCalls && !erratic.count(group);
    if (!is_exact) symbol = symbol_of_group.try_emplace(group, symbol).first->second;
    if (symbol == sequence.symbols.size()) sequence.symbols.push_back({.bytes = bytes, .is_exact = is_exact});
    sequence.symbols[symbol].bytes = std::max(sequence.symbols[symbol].bytes, bytes);
    symbol_of_kind.push_back(symbol);
  }
  sequence.of_call.reserve(log.kind_of_call.size());
  for (const std::uint32_t kind : log.kind_of_call) sequence.of_call.push_back(symbol_of_kind[kind]);
  return sequence;
}

}  // namespace tenax::resilience
