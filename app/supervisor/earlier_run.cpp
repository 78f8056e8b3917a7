#include "app/supervisor/earlier_run.hpp"

#include <filesystem>
#include <sstream>

#include "comm/failure.hpp"
#include "io/whole_file.hpp"
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

}  // namespace

EarlierRun::EarlierRun(const io::Deck& deck, bool takes_over) : deck_(deck) {
  const auto file = LaunchFile::read(fs::path(deck.run.output_dir) / "launch.json");
  if (!file) return;
  for (const LaunchFile::Replica& replica : file->replicas) {
    const bool is_here = replica.process.host == comm::this_host();
    if (is_here ? ReplicaProcess::adopt(replica.process.id).has_value() : takes_over)
      living_.push_back(replica);
  }
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
