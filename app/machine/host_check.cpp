#include "app/machine/host_check.hpp"

#include <sched.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "app/units.hpp"
#include "kernels/host.hpp"
#include "kernels/number_text.hpp"

namespace tenax::app {

namespace {

/// The ranks of one host: what they need together. They looked one after the other: the least they saw counts.
struct HostNeed {
  std::string host;
  std::size_t needs = 0, available = 0;
  int ranks = 0;
};

std::vector<HostNeed> by_host(const std::vector<RankNeed>& ranks) {
  std::vector<HostNeed> hosts;
  for (const RankNeed& rank : ranks) {
    auto host = std::find_if(hosts.begin(), hosts.end(),
                             [&](const HostNeed& known) { return known.host == rank.host; });
    if (host == hosts.end()) host = hosts.insert(hosts.end(), {rank.host, 0, rank.available, 0});
    host->needs += rank.needs;
    host->available = std::min(host->available, rank.available);
    ++host->ranks;
  }
  return hosts;
}

std::string gib_text(std::size_t bytes) {
  constexpr double kGib = 1 << 30;
  return format("%.1f GiB", static_cast<double>(bytes) / kGib);
}

std::string text_of(const RankNeed& need) {
  return std::to_string(need.needs) + " " + std::to_string(need.available) + " " + need.host;
}

RankNeed need_of(std::string_view text) {
  RankNeed need;
  need.needs = kernels::sent_number<std::size_t>(kernels::take_word(text), "the memory that it needs");
  need.available = kernels::sent_number<std::size_t>(kernels::take_word(text), "its host's memory");
  need.host = text;
  return need;
}

}  // namespace

std::size_t host_bytes(const parallel::RankMemory& memory, const kernels::Device& device) {
  if (!device.has_data()) return 0;
  return memory.host_state + memory.host_activations + (device.is_host_memory() ? memory.total() : 0);
}

std::size_t host_bytes(const parallel::Layout& layout, const kernels::Device& device) {
  std::size_t bytes = 0;
  for (const parallel::RankMemory& memory : layout.memory_of_stage)
    bytes += host_bytes(memory, device) * static_cast<std::size_t>(layout.grid.tensor * layout.grid.data);
  return bytes;
}

std::string memory_refusal(const std::vector<RankNeed>& ranks) {
  for (const HostNeed& host : by_host(ranks)) {
    if (host.needs <= host.available) continue;
    return format("the run needs %s on %s (%d rank%s), %s are available", gib_text(host.needs).c_str(),
                  host.host.c_str(), host.ranks, host.ranks == 1 ? "" : "s",
                  gib_text(host.available).c_str()) +
           "; use more hosts, a smaller model or batch, or run.ignore_memory=true to start it all the same "
           "(tenax plan says what takes it)";
  }
  return {};
}

void check_memory(comm::ControlGroup& control, const RankNeed& mine) {
  std::vector<RankNeed> ranks;
  for (const std::string& text : control.all_gather(text_of(mine))) ranks.push_back(need_of(text));
  const std::string refusal = memory_refusal(ranks);
  if (!refusal.empty()) throw comm::AgreedError(kernels::Scope::rank, refusal);
}

// The text: "HOST COUNT CORE CORE …", COUNT what control groups leave of the cores that follow; none follow where they are too
// many for a set.
std::string cores_text(const std::string& host) {
  std::string text = host + " " + std::to_string(kernels::usable_cores());
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return text;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &cores)) text += " " + std::to_string(core);
  return text;
}

Crowding crowding_of(const std::vector<std::string>& texts, int replicas) {
  struct Host {
    int ranks = 0, most = 0;  ///< most: cores that all ranks share
    bool is_limited = false;
    std::set<int> cores;
  };
  std::map<std::string, Host> hosts;
  for (std::string_view words : texts) {
    Host& host = hosts[std::string(kernels::take_word(words))];
    const int usable = kernels::sent_number<int>(kernels::take_word(words), "how many cores it may use");
    int own = 0;
    for (; !words.empty(); ++own)
      host.cores.insert(kernels::sent_number<int>(kernels::take_word(words), "a core that it may use"));
    ++host.ranks;
    host.most = std::max(host.most, usable);
    host.is_limited = host.is_limited || usable != own;
  }
  Crowding worst;
  for (const auto& [name, host] : hosts) {
    const int bound = static_cast<int>(host.cores.size());
    const int cores = std::max(1, host.is_limited ? host.most : bound);
    const int ranks = host.ranks * replicas;
    if (ranks * worst.cores > worst.ranks * cores) worst = {ranks, cores};
  }
  return worst;
}

}  // namespace tenax::app
