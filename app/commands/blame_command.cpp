#include <cstdio>
#include <filesystem>

#include "app/command_line.hpp"
#include "app/commands/commands.hpp"
#include "app/units.hpp"
#include "io/json.hpp"
#include "resilience/blame/culprits.hpp"
#include "resilience/blame/hang_file.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;

void print_blame(const resilience::HangDump& dump, const resilience::Blame& blame) {
  if (blame.culprits.empty()) {
    std::printf("%zu ranks, of which none waits for another\n", dump.ranks.size());
    return;
  }
  std::printf("%zu ranks, stood for %.3g s; what the others wait for: %s\n", dump.ranks.size(), blame.seconds,
              blame.operation.c_str());
  for (const resilience::Culprit& culprit : blame.culprits) {
    const resilience::HangDump::Rank& rank = dump.ranks[static_cast<std::size_t>(culprit.rank)];
    std::printf("%sreplica %d, rank %d on %s: %s (%d ranks wait)\n",
                &culprit == &blame.culprits.front() ? "" : "else ", rank.replica, rank.rank,
                rank.host.empty() ? "a host that is not known" : rank.host.c_str(), culprit.operation.c_str(),
                culprit.waiting_ranks);
  }
}

}  // namespace

int blame_command(const Arguments& arguments) {
  const CommandLine line({"blame", {}, {"json"}, 1, 1}, arguments);
  const fs::path named = line.positional().front();
  std::error_code unknown;  // who reads it says why it cannot be read
  const fs::path file = fs::is_directory(named, unknown) ? resilience::last_hang_of_run(named) : named;
  const resilience::HangDump dump = resilience::read_hang(file);
  const resilience::Blame blame = resilience::find_culprits(dump);
  if (line.has("json"))
    std::printf("%s\n", resilience::blame_json(dump, blame).text().c_str());
  else
    print_blame(dump, blame);
  return 0;
}

}  // namespace tenax::app
