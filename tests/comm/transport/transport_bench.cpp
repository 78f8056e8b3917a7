// Latency and throughput between two ranks, of connections and of links: mpirun -n 2 comm_transport_bench.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "comm/delegates/delegated_link.hpp"
#include "comm/transport/transports.hpp"
#include "comm/world.hpp"

namespace {

using namespace tenax;
using kernels::Deadline;

constexpr std::size_t kBig = std::size_t{4} << 20;
constexpr int kPings = 2000, kBigMessages = 256;

Deadline soon() { return Deadline::after_s(60); }

/// Both ranks call it; half the median time of `ping`, which goes there and back.
double median_one_way_us(const std::function<void()>& ping) {
  std::vector<double> times_s;
  for (int i = 0; i < kPings; ++i) {
    const double begin_s = kernels::steady_now_s();
    ping();
    times_s.push_back(kernels::steady_now_s() - begin_s);
  }
  std::nth_element(times_s.begin(), times_s.begin() + kPings / 2, times_s.end());
  return 1e6 * times_s[kPings / 2] / 2;
}

double gigabytes_per_s(const std::function<void()>& stream) {
  stream();
  const double begin_s = kernels::steady_now_s();
  stream();
  return 1e-9 * static_cast<double>(kBig) * kBigMessages / (kernels::steady_now_s() - begin_s);
}

void send(comm::Connection& connection, const std::vector<std::byte>& payload) {
  comm::MessageHeader header;
  header.bytes = header.payload_bytes = payload.size();
  connection.send(header, payload, soon());
}

void receive(comm::Connection& connection, std::vector<std::byte>& payload) {
  const auto header = connection.receive(soon());
  payload.resize(header.value().payload_bytes);
  connection.receive_payload(payload, soon());
}

void measure(const std::string& name, comm::Connection& connection, int rank) {
  std::vector<std::byte> small(64), big(kBig), answer;
  const double latency_us = median_one_way_us([&] {
    if (rank == 0) send(connection, small);
    receive(connection, answer);
    if (rank == 1) send(connection, small);
  });
  const double rate = gigabytes_per_s([&] {
    for (int i = 0; i < kBigMessages; ++i) rank == 0 ? send(connection, big) : receive(connection, big);
    rank == 0 ? receive(connection, answer) : send(connection, small);
  });
  if (rank == 0) std::printf("%-28s %10.1f us %8.2f GB/s\n", name.c_str(), latency_us, rate);
}

void measure(const std::string& name, comm::Link& link, int rank, kernels::Device& device) {
  const auto stream = device.create_stream();
  const auto memory = device.allocate(kBig);
  const auto tensor = [&](std::size_t bytes) {
    return memory->tensor(kernels::DType::i32, {static_cast<std::int64_t>(bytes / 4)});
  };
  const auto ping = [&] {
    if (rank == 0) link.send(*stream, tensor(64), 0)->wait(soon());
    link.receive(*stream, tensor(64), 0)->wait(soon());
    if (rank == 1) link.send(*stream, tensor(64), 0)->wait(soon());
  };
  const double latency_us = median_one_way_us(ping);
  const double rate = gigabytes_per_s([&] {
    std::vector<comm::TransferPtr> transfers;
    for (int i = 0; i < kBigMessages; ++i)
      transfers.push_back(rank == 0 ? link.send(*stream, tensor(kBig), 1)
                                    : link.receive(*stream, tensor(kBig), 1));
    for (const comm::TransferPtr& transfer : transfers) transfer->wait(soon());
    ping();
  });
  if (rank == 0) std::printf("%-28s %10.1f us %8.2f GB/s\n", name.c_str(), latency_us, rate);
}

void measure_transport(comm::TransportKind transport_kind, const std::string& kind, comm::World& world,
                       kernels::Device& device) {
  const auto control = world.control_group();
  const auto transport = comm::create_transport({.kind = transport_kind,
                                                 .interfaces = {"lo"},
                                                 .deadline_s = 60,
                                                 .secret = comm::JobSecret::share(*control)});
  const auto peers = comm::exchange_peers(*control, *transport, world.rank(), world.host());
  const int rank = world.rank();
  const comm::Peer &me = peers[static_cast<std::size_t>(rank)],
                   &peer = peers[static_cast<std::size_t>(1 - rank)];
  const auto connection = rank == 0 ? transport->connect(peer, peer.addresses.front(), "bench", soon())
                                    : transport->accept(peer, "bench", soon());
  measure(kind + " connection", *connection, rank);
  for (const int delegates : {1, 4}) {
    const auto link = comm::create_delegated_link("bench" + std::to_string(delegates), me, peer, *transport,
                                                  device, {.delegates = delegates});
    measure(kind + " link, " + std::to_string(delegates) + " delegates", *link, rank, device);
  }
  control->all_gather({});
}

}  // namespace

int main() {
  const auto device = kernels::create_cpu_device();
  const auto world = comm::start_mpi_world({});
  if (world->size() != 2) return 2;
  const auto endpoint = world->split_endpoint(0, world->rank());
  measure("MPI link", endpoint->link(1 - world->rank()), world->rank(), *device);
  measure_transport(comm::TransportKind::shared_memory, "shm", *world, *device);
  measure_transport(comm::TransportKind::tcp, "tcp", *world, *device);
}
