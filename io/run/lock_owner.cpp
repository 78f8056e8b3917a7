#include "io/run/lock_owner.hpp"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "io/run/run_files.hpp"

namespace tenax::io {
namespace {

/// 0 if there is no such process.
std::int64_t start_of_process(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t end_of_name = text.rfind(')');  // the name, in brackets, may hold anything
  if (end_of_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(end_of_name + 1));
  constexpr int kBetween = 19;  // between the name, field 2, and the start, field 22 of proc(5)
  std::string skipped;
  for (int i = 0; i < kBetween; ++i) fields >> skipped;
  std::int64_t start = 0;
  fields >> start;
  return start;
}

std::string first_set(std::initializer_list<const char*> variables) {
  for (const char* variable : variables)
    if (const char* const value = std::getenv(variable); value && *value) return value;
  return {};
}

bool is_alive(const LockOwner& owner) {
  const std::int64_t start = start_of_process(owner.pid);
  return start != 0 && start == owner.pid_start;
}

bool is_earlier_start_of(const LockOwner& owner, const LockOwner& me) {
  return !me.job.empty() && owner.job == me.job && owner.restart < me.restart;
}

}  // namespace

std::string description(const LockOwner& owner) {
  const auto seconds = static_cast<std::time_t>(owner.time_s);
  std::tm fields{};
  char since[32] = "";
  gmtime_r(&seconds, &fields);
  std::strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S UTC", &fields);
  return "process " + std::to_string(owner.pid) + " on " + owner.host +
         (owner.job.empty() ? "" : " (job " + owner.job + ")") + ", since " + since;
}

LockOwner LockOwner::this_process() {
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  LockOwner me;
  me.host = host;
  me.pid = getpid();
  me.pid_start = start_of_process(me.pid);
  me.job = first_set({"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"});
  me.restart = std::atoll(first_set({"SLURM_RESTART_COUNT"}).c_str());
  me.time_s = unix_time_s();
  return me;
}

std::string lock_obstacle(const std::filesystem::path& directory, LockState state,
                          const std::optional<LockOwner>& owner, const LockOwner& me) {
  const std::string advice =
      "; wait until it ends, or choose another run.name, run.output_dir or checkpoint.dir";
  const std::string file = (directory / kLockFile).string();
  if (state == LockState::held || (state == LockState::unknown && !owner))
    return directory.string() +
           " is in use by another run: " + (owner ? description(*owner) : "a process that is just starting") +
           advice;
  if (!owner || is_earlier_start_of(*owner, me)) return {};
  if (owner->host != me.host)
    return directory.string() + " is locked by a run on another host: " + description(*owner) + "; " +
           me.host + " cannot see whether it still runs: if it does not, delete " + file + " and start again";
  if (state == LockState::unknown && is_alive(*owner))
    return directory.string() + " is in use by another run: " + description(*owner) + advice;
  return {};
}

}  // namespace tenax::io
