#include "app/training/lost_checkpoints.hpp"

#include <filesystem>

#include "io/run/run_series.hpp"
#include "io/set_aside.hpp"

namespace tenax::app {

std::optional<std::string> leave_lost_steps(const io::Deck& deck) {
  const std::filesystem::path run = deck.run.output_dir;
  if (!io::tells_of_checkpoints(run)) return {};
  std::string kept;
  for (const char* name : {"metrics.jsonl", "tensorboard"})
    if (const auto moved = io::set_aside(run / name))
      kept += std::string("; ") + name + " of the steps before is kept as " + moved->string();
  return (run / "events.jsonl").string() + " tells of checkpoints, but there is none to resume from in " +
         deck.checkpoint.dir + ": the run begins at step 0" + kept;
}

}  // namespace tenax::app
