#include "resilience/detection/call_anchor.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <unordered_map>

namespace tenax::resilience {
namespace {

constexpr std::size_t kFewest = 8;
constexpr double kUsualShare = 0.875;

using Places = std::vector<std::size_t>;

/// Sums of a random number for each call: those of the same calls are equal, whatever their order.
class CallSums {
 public:
  explicit CallSums(const CallSequence& sequence) {
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> number_of(sequence.symbols.size());
    for (std::uint64_t& number : number_of) number = random();
    sums_.reserve(sequence.of_call.size() + 1);
    for (const std::uint32_t symbol : sequence.of_call) sums_.push_back(sums_.back() + number_of[symbol]);
  }
  std::uint64_t of(std::size_t begin, std::size_t end) const { return sums_[end] - sums_[begin]; }

 private:
  std::vector<std::uint64_t> sums_ = {0};
};

/// Which of the iterations that begin at `begins` have the sum that most have.
std::vector<bool> usual(const CallSums& sums, const Places& begins) {
  std::unordered_map<std::uint64_t, std::size_t> times;
  for (std::size_t next = 1; next < begins.size(); ++next) ++times[sums.of(begins[next - 1], begins[next])];
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::uint64_t most = std::max_element(times.begin(), times.end(), fewer)->first;
  std::vector<bool> is_usual;
  for (std::size_t next = 1; next < begins.size(); ++next)
    is_usual.push_back(sums.of(begins[next - 1], begins[next]) == most);
  return is_usual;
}

/// Whether usual iterations are frequent, and hold most of the log's calls.
bool are_usual(const AnchoredCalls& calls, std::size_t all) {
  const auto& [begins, is_usual] = calls;
  const auto count = static_cast<std::size_t>(std::count(is_usual.begin(), is_usual.end(), true));
  if (count < kFewest || static_cast<double>(count) < kUsualShare * static_cast<double>(is_usual.size()))
    return false;
  const auto first =
      static_cast<std::size_t>(std::find(is_usual.begin(), is_usual.end(), true) - is_usual.begin());
  const auto held = static_cast<double>(count * (begins[first + 1] - begins[first]));
  return held >= kLeastShare * static_cast<double>(all) &&
         held >= kLeastShareWithin * static_cast<double>(begins.back() - begins.front());
}

/// What unusual iterations have besides is an evaluation, or there is nothing.
bool are_iterations(const CallSequence& sequence, const AnchoredCalls& calls) {
  std::set<std::uint32_t> own, other;
  bool all_are_usual = true;
  for (std::size_t i = 0; i < calls.is_usual.size(); ++i) {
    if (calls.is_usual[i] && !own.empty()) continue;
    all_are_usual = all_are_usual && calls.is_usual[i];
    (calls.is_usual[i] ? own : other).merge(symbols_among(sequence, calls.begins[i], calls.begins[i + 1]));
  }
  return all_are_usual || is_iteration(sequence, own, other);
}

std::vector<Places> places_of_symbols(const CallSequence& sequence) {
  std::vector<Places> places(sequence.symbols.size());
  for (std::size_t call = 0; call < sequence.of_call.size(); ++call)
    places[sequence.of_call[call]].push_back(call);
  return places;
}

}  // namespace

std::optional<AnchoredCalls> find_call_anchor(const CallSequence& sequence) {
  std::vector<Places> places = places_of_symbols(sequence);
  std::vector<std::size_t> by_frequency(places.size());
  std::iota(by_frequency.begin(), by_frequency.end(), 0);
  std::stable_sort(by_frequency.begin(), by_frequency.end(),
                   [&](std::size_t a, std::size_t b) { return places[a].size() > places[b].size(); });
  const CallSums sums(sequence);
  for (const std::size_t symbol : by_frequency) {
    if (places[symbol].size() <= kFewest || !sequence.symbols[symbol].is_exact) continue;
    AnchoredCalls calls{.begins = std::move(places[symbol]), .is_usual = {}};
    calls.is_usual = usual(sums, calls.begins);
    if (are_usual(calls, sequence.of_call.size()) && are_iterations(sequence, calls)) return calls;
  }
  return std::nullopt;
}

}  // namespace tenax::resilience
