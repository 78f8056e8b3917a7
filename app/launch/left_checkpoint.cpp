#include "app/launch/left_checkpoint.hpp"

#include <algorithm>
#include <vector>

#include "app/launch/launch_files.hpp"
#include "io/checkpoint/checkpoint_seal.hpp"
#include "kernels/error.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"
#include "resilience/membership/committed_steps.hpp"
#include "resilience/replicas/ledger_store.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using resilience::CheckpointFile;

namespace {

/// Throws kernels::Error where it cannot be read: then nobody knows, and who takes it for a broken one removes it.
bool is_sealed(const fs::path& file) {
  try {
    io::read_seal(file);
  } catch (const kernels::UnfitFileError&) {
    return false;
  }
  return true;
}

/// Whether the run has all steps of the file, or its writer may have gone on with them alone. Members that hold more
/// than what a later void line has left are out of the run.
bool is_of_run(const CheckpointFile& file, const resilience::CommittedSteps& steps) {
  if (!steps.epoch() || (steps.is_cut() && file.step > steps.done())) return false;
  const auto& members = steps.epoch()->members;
  return std::any_of(members.begin(), members.end(), [&](const auto& member) {
    return checkpoint_writer(member.id.replica, member.id.incarnation) == file.writer;
  });
}

resilience::CommittedSteps steps_of(const fs::path& run_directory) {
  resilience::CommittedSteps steps;
  for (const resilience::Record& record : resilience::read_ledger(run_directory)) steps.add(record);
  return steps;
}

/// Whether checkpoints count that are of more steps than the ledger has.
enum class StepsAhead { count, do_not_count };

/// Of `pending`. Not the one that has its place already.
std::optional<CheckpointFile> newest_left(const io::Deck& deck, const std::vector<CheckpointFile>& pending,
                                          StepsAhead ahead) {
  if (pending.empty()) return {};
  const auto placed = resilience::list_checkpoints(deck.checkpoint.dir);
  const std::int64_t newest = placed.empty() ? -1 : placed.back().step;
  const resilience::CommittedSteps steps = steps_of(deck.run.output_dir);
  const auto left = std::find_if(pending.rbegin(), pending.rend(), [&](const CheckpointFile& file) {
    if (ahead == StepsAhead::do_not_count && file.step > steps.done()) return false;
    return file.step > newest && is_of_run(file, steps) && is_sealed(file.path);
  });
  if (left == pending.rend()) return {};
  return *left;
}

std::optional<fs::path> give_place(const io::Deck& deck, const std::optional<CheckpointFile>& left) {
  constexpr std::int64_t kAll = 0;  // this one has not been read to its end
  if (!left || !resilience::place_checkpoint(deck.checkpoint.dir, left->step, left->writer, kAll)) return {};
  return resilience::checkpoint_name(deck.checkpoint.dir, left->step);
}

}  // namespace

std::optional<fs::path> place_left_checkpoint(const io::Deck& deck) {
  const auto pending = resilience::list_pending_checkpoints(deck.checkpoint.dir);
  return give_place(deck, newest_left(deck, pending, StepsAhead::count));
}

std::optional<fs::path> place_recorded_checkpoint(const io::Deck& deck,
                                                  const std::optional<std::string>& writer) {
  auto pending = resilience::list_pending_checkpoints(deck.checkpoint.dir);
  std::erase_if(pending, [&](const CheckpointFile& file) { return writer && file.writer != *writer; });
  return give_place(deck, newest_left(deck, pending, StepsAhead::do_not_count));
}

}  // namespace tenax::app
