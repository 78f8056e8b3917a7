#include "resilience/detection/call_sequence.hpp"

#include <algorithm>
#include <map>

namespace tenax::resilience {
namespace {

/// A period is seen three times at least, and so are its calls.
constexpr std::size_t kFewest = 3;

std::vector<std::size_t> counts_of_kinds(const io::CallLog& log) {
  std::vector<std::size_t> counts(log.kinds.size());
  for (const std::uint32_t kind : log.kind_of_call) ++counts[kind];
  return counts;
}

}  // namespace

CallSequence call_sequence(const io::CallLog& log, const std::set<CallGroup>& erratic) {
  const std::vector<std::size_t> counts = counts_of_kinds(log);
  CallSequence sequence;
  std::map<CallGroup, std::uint32_t> symbol_of_group;
  std::vector<std::uint32_t> symbol_of_kind;
  for (std::size_t kind = 0; kind < log.kinds.size(); ++kind) {
    const auto& [name, bytes, ranks] = log.kinds[kind];
    const CallGroup group(name, ranks);
    auto symbol = static_cast<std::uint32_t>(sequence.symbols.size());
    const bool is_exact = counts[kind] >= kFewest && !erratic.count(group);
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
