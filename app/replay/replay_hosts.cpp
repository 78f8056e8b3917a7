#include "app/replay/replay_hosts.hpp"

#include <string_view>

#include "app/units.hpp"
#include "io/deck/deck_check.hpp"
#include "io/text.hpp"
#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::app {
namespace {

using kernels::Error;
using kernels::Scope;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) words.emplace_back(kernels::take_word(text, ','));
  for (const std::string& word : words)
    if (!io::is_host_with_slots(word))
      throw Error(Scope::usage, "--on: " + io::excerpt(word) + " is neither HOST nor HOST:SLOTS");
  return words;
}

/// Of one run: the ranks in order.
std::vector<HostSlots> place_ranks(const std::vector<std::string>& words, int ranks) {
  const int hosts = static_cast<int>(words.size());
  std::vector<HostSlots> slots = parse_hosts(words);
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i].find(':') == std::string::npos) slots[i].slots = (ranks + hosts - 1) / hosts;
  int missing = ranks;
  for (HostSlots& host : slots) missing -= host.slots = std::min(host.slots, missing);
  if (missing > 0)
    throw Error(Scope::usage, format("--on has too few slots: each of the two runs has %d ranks", ranks));
  std::erase_if(slots, [](const HostSlots& host) { return host.slots == 0; });
  return slots;
}

}  // namespace

ReplayHosts replay_hosts(const std::string& on, int ranks) {
  const std::vector<std::string> words = words_of(on);
  if (words.empty()) return {};
  if (words.size() == 1) return {place_ranks(words, ranks), place_ranks(words, ranks)};
  if (words.size() % 2 != 0)
    throw Error(
        Scope::usage,
        format("--on has %zu hosts: the two runs take one and the same, or half of them each", words.size()));
  const auto half = words.begin() + static_cast<std::ptrdiff_t>(words.size() / 2);
  return {place_ranks({words.begin(), half}, ranks), place_ranks({half, words.end()}, ranks)};
}

}  // namespace tenax::app
