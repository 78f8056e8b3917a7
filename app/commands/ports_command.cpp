#include <cstdio>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/commands/commands.hpp"
#include "app/options.hpp"
#include "app/units.hpp"
#include "comm/verbs.hpp"
#include "io/deck/deck.hpp"
#include "io/json.hpp"

namespace tenax::app {

namespace {

using Ports = std::vector<comm::VerbsPort>;

std::string gid_of(const comm::VerbsPort& port) {
  return port.gid_index ? format("GID %d %s", *port.gid_index, port.gid.c_str()) : std::string("no GID");
}

/// "mlx5_0:1  ACTIVE  Ethernet  MTU 4096  100 Gb/s  NUMA 0  GID 3 ::ffff:10.0.0.5  usable"
std::string line_of(const comm::VerbsPort& port) {
  std::string line = port.name + "  " + port.state;
  if (!port.link_layer.empty()) {
    line += format("  %s  MTU %d", port.link_layer.c_str(), port.mtu_bytes);
    line += port.gbps > 0 ? format("  %g Gb/s", port.gbps) : std::string("  speed not known");
    line += port.numa_node >= 0 ? format("  NUMA %d", port.numa_node) : std::string("  NUMA node not known");
    line += "  " + gid_of(port);
  }
  return line + "  " + (port.obstacle.empty() ? "usable" : "not usable: it " + port.obstacle);
}

void print_text(const Ports& ports) {
  for (const comm::VerbsPort& port : ports) std::printf("%s\n", line_of(port).c_str());
  if (!comm::has_verbs())
    std::printf("%s\n", comm::kNoVerbs);
  else if (ports.empty())
    std::printf("no RDMA device\n");
  const auto locked = comm::locked_memory_bytes();
  std::printf("locked memory allowed: %s\n",
              locked ? bytes_text(static_cast<double>(*locked)).c_str() : "unlimited");
}

io::JsonObject json_of(const comm::VerbsPort& port) {
  io::JsonObject json;
  json.add("port", port.name).add("state", port.state);
  const auto known = [&](const char* name, bool is_known, auto value) {
    is_known ? json.add(name, value) : json.add_json(name, "null");
  };
  known("link_layer", !port.link_layer.empty(), port.link_layer);
  known("mtu", port.mtu_bytes > 0, port.mtu_bytes);
  known("gbps", port.gbps > 0, port.gbps);
  known("numa_node", port.numa_node >= 0, port.numa_node);
  known("gid_index", port.gid_index.has_value(), port.gid_index.value_or(0));
  known("gid", port.gid_index.has_value(), port.gid);
  json.add("usable", port.obstacle.empty());
  known("reason", !port.obstacle.empty(), port.obstacle);
  return json;
}

void print_json(const Ports& ports) {
  std::vector<io::JsonObject> list;
  for (const comm::VerbsPort& port : ports) list.push_back(json_of(port));
  const auto locked = comm::locked_memory_bytes();
  io::JsonObject json;
  json.add("ports", list).add_json("locked_memory_bytes", locked ? std::to_string(*locked) : "null");
  std::printf("%s\n", json.add("compiled_in", comm::has_verbs()).text().c_str());
}

}  // namespace

int ports_command(const Arguments& arguments) {
  constexpr int kMaxArguments = 1000;
  const CommandLine line({"ports", {}, {"json"}, 0, kMaxArguments}, arguments);
  const Ports ports = comm::verbs_ports(verbs_port_options(io::deck_of_overrides(line.positional())));
  line.has("json") ? print_json(ports) : print_text(ports);
  for (const comm::VerbsPort& port : ports)
    if (port.obstacle.empty()) return 0;
  return 1;
}

}  // namespace tenax::app
