// Prints what becomes of this host's RDMA ports, a line a change, until its standard input ends:
//   watch_ports SECONDS-BETWEEN-LOOKS
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "comm/verbs/port_watch.hpp"
#include "comm/verbs/ports.hpp"
#include "kernels/deadline.hpp"

namespace {

using tenax::comm::verbs::PortChange;

/// "12.345 down rxe_a0:1 is DOWN", "13.210 up rxe_a0:1 10.77.0.1"; seconds of the system's uptime.
void print(const PortChange& change) {
  const auto& status = change.status;
  std::printf(
      "%.3f %s %s %s\n", tenax::kernels::steady_now_s(), name_of(change.kind), status.name.c_str(),
      status.is_usable() ? tenax::comm::verbs::ip_text(status.port.gid).c_str() : status.obstacle.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const double looks_s = argc > 1 ? std::atof(argv[1]) : tenax::comm::verbs::PortWatch::kLooks_s;
  // What asked the ports first is gone: it would keep their devices.
  const tenax::comm::verbs::PortWatch watch(tenax::comm::verbs::Ports({}, {}).chosen(), {}, print, looks_s);
  std::printf("watching\n");
  std::fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
