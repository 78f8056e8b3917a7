#include <algorithm>
#include <cstdio>
#include <iterator>

#include "app/command_line.hpp"
#include "app/commands/checkpoint_arguments.hpp"
#include "app/commands/commands.hpp"
#include "app/launch/interrupts.hpp"
#include "app/replay/replay.hpp"
#include "app/units.hpp"
#include "io/json.hpp"
#include "kernels/error.hpp"

namespace tenax::app {
namespace {

using resilience::ReplayDifference;
using resilience::ReplayPoint;

std::string hosts_text(const std::string& first, const std::string& second) {
  return first == second ? second : second + " (the first run: " + first + ")";
}

void print_outcome(const ReplayOutcome& outcome, std::int64_t steps) {
  if (!outcome.difference) {
    std::printf("equal: %d tensors on %d %s, after each of %lld steps from step %lld on; %s\n",
                outcome.tensors, outcome.ranks, outcome.ranks == 1 ? "rank" : "ranks",
                static_cast<long long>(steps), static_cast<long long>(outcome.first_step),
                hosts_text(outcome.hosts[0], outcome.hosts[1]).c_str());
    return;
  }
  const ReplayDifference& found = *outcome.difference;
  const std::string layer = found.layer ? format("layer %lld, ", static_cast<long long>(*found.layer)) : "";
  std::printf("step %lld: %s of %s differs first, %s its update: %sstage %d, rank %d on %s\n",
              static_cast<long long>(found.step), found.part.c_str(), found.tensor.c_str(),
              found.point == ReplayPoint::update ? "before" : "after", layer.c_str(), found.stage, found.rank,
              hosts_text(found.first_host, found.second_host).c_str());
  std::printf("with it %d of %d tensors, on %d of %d ranks\n", found.tensors, outcome.tensors, found.ranks,
              outcome.ranks);
}

io::JsonObject json_of(const ReplayOutcome& outcome, std::int64_t steps) {
  io::JsonObject json;
  json.add("equal", !outcome.difference)
      .add("first_step", outcome.first_step)
      .add("steps", steps)
      .add("ranks", outcome.ranks)
      .add("hosts", std::vector<std::string>{outcome.hosts[0], outcome.hosts[1]});
  if (!outcome.difference) return json;
  const ReplayDifference& found = *outcome.difference;
  json.add("step", found.step).add("tensor", found.tensor).add("part", found.part);
  if (found.layer)
    json.add("layer", *found.layer);
  else
    json.add_json("layer", "null");
  return json.add("stage", found.stage)
      .add("rank", found.rank)
      .add("host", found.second_host)
      .add("first_host", found.first_host)
      .add("is_updated", found.point == ReplayPoint::commit)
      .add("differing_tensors", found.tensors)
      .add("differing_ranks", found.ranks);
}

}  // namespace

int replay_command(const Arguments& arguments) {
  constexpr std::int64_t kMostSteps = 1 << 20;
  const auto is_override = [](const std::string& word) {  // section.key=value, and no path
    const std::string name = word.substr(0, word.find('='));
    return name != word && name.find('.') != std::string::npos &&
           name.find_first_of("-/") == std::string::npos;
  };
  Arguments words, overrides;
  std::partition_copy(arguments.begin(), arguments.end(), std::back_inserter(overrides),
                      std::back_inserter(words), is_override);
  const CommandLine line({"replay", {"steps", "on"}, {"json"}, 1, 1}, words);
  if (!line.has("steps"))
    throw kernels::Error(kernels::Scope::usage, "replay: --steps N is missing: how many steps to do again");
  const std::int64_t steps = line.integer("steps", 0, 1, kMostSteps);
  Interrupts interrupts;
  const io::VerifiedCheckpoint checkpoint = checkpoint_of_argument(line.positional().front());
  const ReplayRequest request{.checkpoint = checkpoint.file.path(),
                              .info = checkpoint.info,
                              .steps = steps,
                              .on = line.text("on", ""),
                              .overrides = overrides};
  const ReplayOutcome outcome = replay(request, [&] { return interrupts.take().any; });
  if (line.has("json"))
    std::printf("%s\n", json_of(outcome, steps).text().c_str());
  else
    print_outcome(outcome, steps);
  return outcome.difference ? 1 : 0;
}

}  // namespace tenax::app
