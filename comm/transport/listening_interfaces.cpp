#include "comm/transport/listening_interfaces.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <set>
#include <sstream>

#include "kernels/new_thread.hpp"

namespace tenax::comm {
namespace {

constexpr auto kPatience = std::chrono::seconds(3);  // with name servers

/// The kernel that runs, and the name space of its network; empty where /proc does not tell.
std::string network_stack() {
  std::string kernel;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> kernel;
  std::array<char, 64> space{};
  const ssize_t bytes = readlink("/proc/self/ns/net", space.data(), space.size() - 1);
  return kernel.empty() || bytes <= 0 ? "" : kernel + " " + space.data();
}

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = address.sa_family == AF_INET
                          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
                          : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return inet_ntop(address.sa_family, bytes, text.data(), text.size()) ? text.data() : "";
}

std::vector<std::string> look_up(const std::vector<std::string>& hosts) {
  std::vector<std::string> found;
  for (const std::string& host : hosts) {
    addrinfo hints{}, *list = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) continue;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
    for (const addrinfo* entry = list; entry; entry = entry->ai_next)
      if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6)
        found.push_back(host + " " + text_of(*entry->ai_addr));
  }
  return found;
}

/// A name server that does not answer keeps its thread, and nobody else.
std::vector<std::string> look_up_in_time(const std::vector<std::string>& hosts) {
  std::packaged_task<std::vector<std::string>()> task([hosts] { return look_up(hosts); });
  std::future<std::vector<std::string>> found = task.get_future();
  kernels::new_thread(std::move(task)).detach();
  return found.wait_for(kPatience) == std::future_status::ready ? found.get() : std::vector<std::string>{};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::vector<std::string> loopback() {
  std::vector<std::string> texts;
  for (const NetworkAddress& address : network_addresses({}))
    if (address.is_loopback) texts.push_back(address.text);
  return texts;
}

/// Those that have one of the addresses.
std::vector<std::string> interfaces_with(const std::set<std::string>& addresses) {
  std::vector<std::string> names;
  for (const NetworkAddress& own : network_addresses({}))
    if (!own.is_loopback && addresses.contains(own.text) &&
        std::find(names.begin(), names.end(), own.interface) == names.end())
      names.push_back(own.interface);
  return names;
}

/// Its own, and that of the next rank elsewhere: so each host is looked up by itself, where it may know its name as loopback,
/// and by another one, and no name server is asked for all of them by all of them.
std::vector<std::string> hosts_to_look_up(const std::vector<std::string>& host_of_rank, std::size_t me) {
  std::vector<std::string> hosts = {host_of_rank[me]};
  for (std::size_t step = 1; step < host_of_rank.size() && hosts.size() < 2; ++step) {
    const std::string& next = host_of_rank[(me + step) % host_of_rank.size()];
    if (next != hosts[0]) hosts.push_back(next);
  }
  return hosts;
}

}  // namespace

HostNetwork host_network(const std::string& host) { return {host, network_stack(), look_up_in_time}; }

std::vector<std::string> interfaces_of_job(ControlGroup& control, const HostNetwork& here) {
  const std::vector<std::string> stacks = control.all_gather(here.stack);
  const std::vector<std::string> hosts = control.all_gather(here.host);
  const auto is_here = [&](const std::string& stack) { return !stack.empty() && stack == here.stack; };
  if (std::all_of(stacks.begin(), stacks.end(), is_here)) return loopback();
  const auto found = here.look_up(hosts_to_look_up(hosts, static_cast<std::size_t>(control.rank())));
  std::set<std::string> own;
  for (const std::string& text : control.all_gather(joined(found)))
    for (const std::string& line : lines_of(text))
      if (line.starts_with(here.host + " ")) own.insert(line.substr(here.host.size() + 1));
  return interfaces_with(own);
}

}  // namespace tenax::comm
