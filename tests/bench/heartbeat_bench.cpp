// What the heartbeats of a replica cost its leader.
//
//   heartbeat_bench [RANKS (8192)] [RANKS A HOST (8)] [SECONDS (10)]
//
// Other processes beat ten times a second each: those that beat to the leader in the tree of this many hosts, and one of each
// host. Prints the share of a core that the leader takes, sockets in the kernel included.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/deadline.hpp"
#include "resilience/replicas/heartbeat_targets.hpp"
#include "resilience/replicas/leader_heartbeat.hpp"

namespace tenax::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kInterval_s = 0.1, kConnect_s = 120;
constexpr int kOfProcess = 1024;  // each has some descriptors

double cpu_s() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void wait_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Ranks `first` … `last` − 1, until it is ended.
[[noreturn]] void beat(const comm::JobSecret& secret, const std::vector<std::string>& leader, int first,
                       int last) {
  std::vector<std::unique_ptr<comm::MessageClient>> ranks;
  for (int rank = first; rank < last; ++rank)
    ranks.push_back(std::make_unique<comm::MessageClient>(
        comm::MessageClientOptions{.secret = secret,
                                   .addresses = leader,
                                   .purpose = resilience::heartbeat_purpose(rank),
                                   .deadline = kernels::Deadline::after_s(kConnect_s)}));
  for (auto next = Clock::now();; std::this_thread::sleep_until(next)) {
    next += std::chrono::milliseconds(static_cast<int>(1e3 * kInterval_s));
    for (const auto& rank : ranks) rank->send(resilience::kBeat);
  }
}

void measure(const char* what, int ranks, double seconds) {
  const comm::JobSecret secret = comm::JobSecret::draw();
  resilience::FrozenEpoch frozen;
  // No thread of this process is there yet when the others are forked: they get its addresses through a pipe.
  std::vector<pid_t> processes;
  std::vector<int> pipes;
  for (int first = 1; first < ranks; first += kOfProcess) {
    int ends[2];
    if (pipe(ends) != 0) std::exit(1);
    const pid_t process = fork();
    if (process == 0) {
      char address[256] = {};
      if (read(ends[0], address, sizeof address - 1) <= 0) std::_Exit(1);
      beat(secret, {address}, first, std::min(ranks, first + kOfProcess));
    }
    processes.push_back(process);
    pipes.push_back(ends[1]);
  }
  {
    resilience::LeaderHeartbeat leader({.secret = secret, .listen = {}, .interfaces = {"lo"}}, ranks, frozen);
    const std::string address = leader.addresses().front();
    for (const int end : pipes)
      if (write(end, address.data(), address.size()) < 0) std::exit(1);
    for (int i = 0; i < 1200 && !leader.is_complete(); ++i) wait_s(kInterval_s);
    const double begin_cpu_s = cpu_s();
    const auto begin = Clock::now();
    int silent = 0;
    while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
      wait_s(kInterval_s);
      silent += leader.silent_rank(1) ? 1 : 0;
    }
    const double wall_s = std::chrono::duration<double>(Clock::now() - begin).count();
    std::printf("%s: %d beat to the leader%s: %.1f %% of a core; a rank was missed in %d looks\n", what,
                ranks - 1, leader.is_complete() ? "" : " (not all came)",
                100 * (cpu_s() - begin_cpu_s) / wall_s, silent);
  }
  for (const pid_t process : processes) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

/// Ranks that beat to the leader, itself counted.
int heard_ranks(int ranks, int of_host) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(std::to_string(rank / of_host));
  const std::vector<int> targets = resilience::heartbeat_targets(hosts);
  return static_cast<int>(std::count(targets.begin(), targets.end(), 0));
}

}  // namespace
}  // namespace tenax::bench

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 8192, of_host = argc > 2 ? std::atoi(argv[2]) : 8;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 10;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  tenax::bench::measure("the tree", tenax::bench::heard_ranks(ranks, of_host), seconds);
  tenax::bench::measure("one of each host", ranks / of_host + of_host - 1, seconds);
}
