#include "app/replay/replay.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <system_error>
#include <thread>

#include "app/replay/replay_deck.hpp"
#include "app/replay/replay_hosts.hpp"
#include "app/replay/replay_pass.hpp"
#include "io/posix_file.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, gone at the end.
class ScratchFolder {
 public:
  explicit ScratchFolder(const fs::path& parent) {
    std::string name = (parent / ".tenax-replay-XXXXXX").string();
    if (!mkdtemp(name.data())) io::throw_file_error("write", name, {errno, std::generic_category()});
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Other hosts must reach it, as they reach the checkpoint.
fs::path parent_of_scratch(const ReplayRequest& request) {
  const bool may_leave_host = !request.on.empty() || std::getenv("SLURM_JOB_ID");
  return may_leave_host ? fs::absolute(request.checkpoint).parent_path()
                        : fs::absolute(fs::temp_directory_path());
}

std::string names_of(const std::vector<HostSlots>& hosts) {
  std::string names;
  for (const HostSlots& host : hosts) names += (names.empty() ? "" : "+") + host.host;
  return names;
}

bool share_a_host(const ReplayHosts& hosts) {
  std::set<std::string> first;
  for (const HostSlots& host : hosts[0]) first.insert(host.host);
  return first.empty() || std::any_of(hosts[1].begin(), hosts[1].end(),
                                      [&](const HostSlots& host) { return first.contains(host.host); });
}

class Replay {
 public:
  Replay(const ReplayRequest& request, const std::function<bool()>& is_stopped)
      : request_(request),
        is_stopped_(is_stopped),
        info_(request.info),
        scratch_(parent_of_scratch(request)),
        deck_(deck_of_checkpoint(request.checkpoint, info_, request.overrides, scratch_.path())),
        hosts_(replay_hosts(request.on, ranks())) {}

  ReplayOutcome run() {
    start(0);
    if (share_a_host(hosts_)) wait();
    start(1);
    wait();
    const auto first = resilience::read_replay(passes_[0]->folder(), ranks());
    const auto second = resilience::read_replay(passes_[1]->folder(), ranks());
    ReplayOutcome outcome{.difference = resilience::find_difference(first, second),
                          .first_step = info_.step,
                          .ranks = ranks(),
                          .tensors = static_cast<int>(info_.parameters.size()),
                          .hosts = {named(0, first.front().rank.host), named(1, second.front().rank.host)}};
    if (auto& found = outcome.difference) {
      found->first_host = hosts_[0].size() == 1 ? outcome.hosts[0] : found->first_host;
      found->second_host = hosts_[1].size() == 1 ? outcome.hosts[1] : found->second_host;
    }
    return outcome;
  }

 private:
  int ranks() const { return static_cast<int>(deck_.parallel.ranks()); }
  std::string named(std::size_t pass, const std::string& otherwise) const {
    return hosts_[pass].empty() ? otherwise : names_of(hosts_[pass]);
  }

  void start(std::size_t pass) {
    constexpr double kLeastPatience_s = 1800, kDeadlines = 10;
    const fs::path folder = scratch_.path() / (pass == 0 ? "first" : "second");
    const std::string name = pass == 0 ? "the first run" : "the second run";
    passes_[pass] = std::make_unique<ReplayPass>(
        ReplayPass::Options{.name = hosts_[pass].empty() ? name : name + " on " + names_of(hosts_[pass]),
                            .command = command(hosts_[pass]),
                            .folder = folder,
                            .patience_s = std::max(kLeastPatience_s, kDeadlines * deck_.comm.deadline_s)},
        replay_deck(deck_, request_.checkpoint, info_, request_.steps, folder));
  }

  ReplicaCommand command(const std::vector<HostSlots>& hosts) const {
    ReplicaCommand command{.method = launch_method(deck_),
                           .ranks = ranks(),
                           .threads = static_cast<int>(deck_.device.threads),
                           .hosts = hosts,
                           .remote_shell = deck_.replicas.remote_shell,
                           .program = fs::read_symlink("/proc/self/exe"),
                           .arguments = {},
                           .scratch = {},
                           .directory = fs::current_path()};
    std::string list;
    for (const HostSlots& host : hosts) list += (list.empty() ? "" : ",") + host.host;
    if (!list.empty()) command.step_options = {"--nodelist=" + list};
    return command;
  }

  void wait() {
    const auto is_done = [](const auto& pass) { return !pass || pass->poll(); };
    while (!(is_done(passes_[0]) & is_done(passes_[1]))) {
      if (is_stopped_())
        throw kernels::Error(kernels::Scope::rank, "stopped before the two runs were compared");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  const ReplayRequest& request_;
  const std::function<bool()>& is_stopped_;
  io::CheckpointInfo info_;
  ScratchFolder scratch_;
  io::Deck deck_;  // of the run that wrote it
  ReplayHosts hosts_;
  std::array<std::unique_ptr<ReplayPass>, 2> passes_;
};

}  // namespace

ReplayOutcome replay(const ReplayRequest& request, const std::function<bool()>& is_stopped) {
  return Replay(request, is_stopped).run();
}

}  // namespace tenax::app
