#include "app/supervisor/earlier_run.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "comm/failure.hpp"
#include "io/run/directory_lock.hpp"
#include "io/whole_file.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

namespace {

constexpr std::int64_t kMostDeckBytes = 4 << 20;

// A resolved deck without what each supervisor has of its own: it may reach etcd in another way.
std::string of_replicas(const std::string& deck) {
  std::istringstream lines(deck);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("resume =") && !line.starts_with("max_minutes =") && !line.starts_with("store"))
      text += line + "\n";
  return text;
}

/// Its first rank, which speaks for it, has gone, as its lock or its outcome says: its mpirun is ending too.
bool is_ending(const fs::path& run_directory, const LaunchFile::Replica& replica) {
  const fs::path directory = replica_directory(run_directory, replica.replica);
  const auto outcome = Outcome::read(directory / "outcome");
  if (outcome && outcome->incarnation == replica.incarnation) return true;
  const auto lock = io::DirectoryLock::look_at(directory);
  return lock && lock->state == io::LockState::free && lock->owner &&
         lock->owner->host == io::LockOwner::this_process().host;
}

}  // namespace

EarlierRun::EarlierRun(const io::Deck& deck, bool takes_over) : deck_(deck) {
  const auto file = LaunchFile::read(fs::path(deck.run.output_dir) / "launch.json");
  if (!file) return;
  find_living(*file, takes_over);
  for (const LaunchFile::Replica& replica : file->replicas)
    if (is_scratch(replica.scratch)) scratch_.emplace_back(replica.scratch);
}

// An mpirun outlives its ranks by moments. Where those of all replicas are gone, nobody is left to tell what they have done
// since: the run begins again, with what they left in files.
void EarlierRun::find_living(const LaunchFile& file, bool takes_over) {
  constexpr double kPatience_s = 10;
  const auto latest = kernels::Deadline::after_s(kPatience_s);
  const auto ends = [&](const auto& replica) { return is_ending(deck_.run.output_dir, replica); };
  do {
    living_.clear();
    for (const LaunchFile::Replica& replica : file.replicas) {
      const bool is_here = replica.process.host == comm::this_host();
      if (is_here ? ReplicaProcess::adopt(replica.process.id).has_value() : takes_over)
        living_.push_back(replica);
    }
    if (living_.empty() || !std::all_of(living_.begin(), living_.end(), ends)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (!latest.expired());
}

void EarlierRun::remove_scratch() const {
  std::error_code ignored;
  for (const fs::path& folder : scratch_) fs::remove_all(folder, ignored);
}

JoinFile EarlierRun::join(const Build& build) const {
  const std::string living = "living replicas of this run have ";
  JoinFile join = JoinFile::read(replica_directory(deck_.run.output_dir, living_.front().replica) / "join");
  if (join.build != build.text())
    throw Error(Scope::job, living + "build " + join.build + ", this is " + build.text() +
                                ": call the program that started them");
  if (of_replicas(deck_text(join)) != of_replicas(io::to_toml(deck_)))
    throw Error(Scope::job, living + "another deck, " + join.deck + ": start with it, or end them first");
  return join;
}

std::string EarlierRun::deck_text(const JoinFile& join) {
  std::string text;
  if (const auto failure = io::read_text_file(join.deck, text, kMostDeckBytes))
    io::throw_file_error("read", join.deck, failure);
  return text;
}

}  // namespace tenax::app
