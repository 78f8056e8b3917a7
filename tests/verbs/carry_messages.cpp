// Two ranks (carrying_rank.hpp) exchange messages over a delegated link and check every byte, while somebody
// else lets the links of a guest fail:
//   carry_messages MIB SILENCE_MS LINKS [auto]
// Rank 0 has the devices rxe_a0 … of so many links, rank 1 rxe_b0 …; with auto they have TCP too, though not
// shared memory. It ends when MIB were carried each way and its standard input has ended. It prints, after the
// seconds of the system's uptime:
//   carrying                     once messages arrive
//   reroute FROM -> TO: REASON   as they go another way
//   gap S                        for a line "gap" of its input: the longest time, since the line before, in which a
//                                rank waited for its next message in their order
//   made N, most N, resent N     for a line "made", "most" or "resent": connections so far, those in one connection's
//                                place, messages that rank 0 has sent again
//   repeated N                   for a line "repeated": messages that came to rank 1 again
//   withheld                     for a line "withhold" of its input, once messages have arrived at rank 1 of which rank 0
//                                does not hear, until it sends one of them again
//   carried MIB MiB each way     at the end
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "tests/verbs/carrying_rank.hpp"

namespace tenax::comm {
namespace {

/// With new messages all the time one is soon withheld.
void withhold(CarryingRank& rank) {
  rank.withhold();
  while (!rank.has_withheld()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  say("withheld");
}

void carry(std::int64_t messages, const CarrySettings& settings) {
  MessageNumbers numbers;
  std::array<CarryingRank, 2> ranks = {CarryingRank(0, settings, numbers),
                                       CarryingRank(1, settings, numbers)};
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank) ranks[rank].join(ranks[1 - rank].as_peer());
  for (CarryingRank& rank : ranks)
    threads.emplace_back([&rank] {
      try {
        rank.carry();
      } catch (const std::exception& error) {
        say(std::string("failed: ") + error.what());
        std::_Exit(1);
      }
    });
  for (std::string order; std::getline(std::cin, order);) {
    if (order == "gap")
      say("gap " + std::to_string(std::max(ranks[0].longest_gap_s(), ranks[1].longest_gap_s())));
    if (order == "made") say("made " + std::to_string(ranks[0].connections()));
    if (order == "most") say("most " + std::to_string(ranks[0].most_connections()));
    if (order == "withhold") withhold(ranks[1]);
    if (order == "repeated") say("repeated " + std::to_string(ranks[1].repeated()));
    if (order == "resent") say("resent " + std::to_string(ranks[0].resent()));
  }
  const auto carried = numbers.end_after(messages);
  for (std::thread& thread : threads) thread.join();
  say("carried " + std::to_string(carried * static_cast<std::int64_t>(kMessageBytes) >> 20) +
      " MiB each way");
  std::thread other([&] { ranks[1].leave(); });
  ranks[0].leave();
  other.join();
}

}  // namespace
}  // namespace tenax::comm

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: carry_messages MIB SILENCE_MS LINKS [auto]\n");
    return 2;
  }
  try {
    const auto messages = (std::atoll(argv[1]) << 20) / static_cast<long long>(tenax::comm::kMessageBytes);
    tenax::comm::carry(
        messages,
        {.silence_s = std::atof(argv[2]) / 1000, .links = std::atoi(argv[3]), .has_other_ways = argc > 4});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "carry_messages: %s\n", error.what());
    return 1;
  }
  return 0;
}
