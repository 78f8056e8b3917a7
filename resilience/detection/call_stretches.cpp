#include "resilience/detection/call_stretches.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace tenax::resilience {
namespace {

using SymbolRange = std::span<const std::uint32_t>;

/// Stretches of any period of `lag` calls. What could belong to two is the later one's: an evaluation goes on like an
/// iteration by chance, and then an iteration begins.
std::vector<CallStretch> repeating(SymbolRange symbols, std::size_t lag) {
  std::vector<CallStretch> found;
  std::size_t first = lag;
  for (std::size_t call = lag; call <= symbols.size(); ++call) {
    if (call < symbols.size() && symbols[call] == symbols[call - lag]) continue;
    if (call - first >= 2 * lag) {
      if (!found.empty()) found.back().end = std::min(found.back().end, first - lag);
      found.push_back({.begin = first - lag, .end = call});
    }
    first = call + 1;
  }
  return found;
}

/// Which calls a period holds, whatever its first one is.
std::uint64_t content(SymbolRange period) {
  std::uint64_t sum = 0;
  for (std::uint64_t symbol : period) {
    symbol = (symbol + 1) * 0x9e3779b97f4a7c15u;
    sum += (symbol ^ (symbol >> 29)) * 0xbf58476d1ce4e5b9u;
  }
  return sum;
}

/// For each prefix of `word` the length of its longest border (Knuth, Morris, Pratt 1977).
std::vector<std::size_t> borders(SymbolRange word) {
  std::vector<std::size_t> border(word.size());
  for (std::size_t i = 1, length = 0; i < word.size(); ++i) {
    while (length && word[i] != word[length]) length = border[length - 1];
    border[i] = length += word[i] == word[length];
  }
  return border;
}

/// Where `rotated` begins in `word`, which is read as a ring; none if it is another word.
std::optional<std::size_t> rotation(SymbolRange word, SymbolRange rotated) {
  const std::vector<std::size_t> border = borders(rotated);
  const std::size_t size = word.size();
  for (std::size_t i = 0, length = 0; i < 2 * size; ++i) {
    while (length && word[i % size] != rotated[length]) length = border[length - 1];
    length += word[i % size] == rotated[length];
    if (length == size) return i + 1 - size;
  }
  return std::nullopt;
}

/// The content that holds most calls.
std::uint64_t prevalent_content(SymbolRange symbols, const std::vector<CallStretch>& stretches,
                                std::size_t period) {
  std::map<std::uint64_t, std::size_t> calls_of;
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  for (const CallStretch& stretch : stretches)
    calls_of[content(symbols.subspan(stretch.begin, period))] += stretch.calls();
  return std::max_element(calls_of.begin(), calls_of.end(), fewer)->first;
}

}  // namespace

std::size_t CallStretches::calls() const {
  std::size_t sum = 0;
  for (const CallStretch& stretch : stretches) sum += stretch.calls();
  return sum;
}

std::size_t CallStretches::periods() const {
  std::size_t sum = 0;
  for (const CallStretch& stretch : stretches) sum += stretch.calls() / period;
  return sum;
}

CallStretches find_call_stretches(SymbolRange symbols, std::size_t period) {
  const std::vector<CallStretch> all = repeating(symbols, period);
  CallStretches result{.period = period, .stretches = {}};
  if (all.empty()) return result;
  const std::uint64_t prevalent = prevalent_content(symbols, all, period);
  for (CallStretch stretch : all) {
    const SymbolRange own = symbols.subspan(stretch.begin, period);
    if (content(own) != prevalent) continue;
    const SymbolRange word =
        result.stretches.empty() ? own : symbols.subspan(result.stretches.front().begin, period);
    const auto place = rotation(word, own);
    if (!place) continue;
    stretch.place = *place;
    result.stretches.push_back(stretch);
  }
  return result;
}

}  // namespace tenax::resilience
