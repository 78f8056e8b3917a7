// Connections over soft RDMA between the two devices of a guest's first link (tests/verbs/guest_ports.hpp), both ends in
// this process:
//   verbs_bench rate KIND MESSAGES       of 4 MiB, one way. KIND: ring, nothing is registered; registered, the sender's
//                                        memory is; offered, the receiver's too, which offers it
//   verbs_bench latency MESSAGES         of 64 bytes there and back: half of the median
//   verbs_bench idle DELEGATES SECONDS   what an end of a delegated link with so many connections each way costs while
//                                        it is idle for so long, in processor time of 10 s
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/comm/transport/connected_pair.hpp"
#include "tests/verbs/carrying_rank.hpp"
#include "tests/verbs/guest_ports.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::steady_now_s;

constexpr std::size_t kLarge = std::size_t{4} << 20, kSmall = 64;

/// The connected ends of both devices.
struct SoftRdmaPair : ConnectedPair {
  SoftRdmaPair() : ConnectedPair(verbs::transport_over("rxe_a0", 1), verbs::transport_over("rxe_b0", 1)) {
    connect();
  }
};

/// What an end sends from or receives into.
struct Payload {
  Payload(Transport& transport, bool is_registered) : bytes(kLarge, std::byte{1}) {
    if (is_registered) registration = transport.register_memory(bytes);
  }
  std::vector<std::byte> bytes;
  std::unique_ptr<MemoryRegistration> registration;
};

void send(Connection& connection, std::span<const std::byte> payload) {
  MessageHeader header;
  header.payload_bytes = payload.size();
  connection.send(header, payload, Deadline::after_s(60));
}

void receive(Connection& connection, std::span<std::byte> payload) {
  if (!connection.receive(Deadline::after_s(60))) throw std::runtime_error("no message within 60 s");
  connection.receive_payload(payload, Deadline::after_s(60));
}

void measure_rate(const std::string& kind, int messages) {
  SoftRdmaPair pair;
  const Payload sent(*pair.transports[0], kind != "ring");
  Payload received(*pair.transports[1], kind == "offered");
  if (kind == "offered") pair.ends[1]->offer(1);
  std::thread sender([&] {
    for (int i = 0; i <= messages; ++i) send(*pair.ends[0], sent.bytes);
  });
  receive(*pair.ends[1], received.bytes);  // from here on nothing is new
  const double begin_s = steady_now_s();
  for (int i = 0; i < messages; ++i) receive(*pair.ends[1], received.bytes);
  const double took_s = steady_now_s() - begin_s;
  sender.join();
  std::printf("rate %.2f MiB/s\n", messages * static_cast<double>(kLarge >> 20) / took_s);
}

void measure_latency(int messages) {
  SoftRdmaPair pair;
  std::thread other([&] {
    std::vector<std::byte> bytes(kSmall);
    for (int i = 0; i < messages; ++i) {
      receive(*pair.ends[1], bytes);
      send(*pair.ends[1], bytes);
    }
  });
  std::vector<double> times_s;
  std::vector<std::byte> bytes(kSmall);
  for (int i = 0; i < messages; ++i) {
    const double begin_s = steady_now_s();
    send(*pair.ends[0], bytes);
    receive(*pair.ends[0], bytes);
    times_s.push_back(steady_now_s() - begin_s);
  }
  other.join();
  std::sort(times_s.begin(), times_s.end());
  std::printf("latency %.1f us\n", 1e6 * times_s[times_s.size() / 2] / 2);
}

double processor_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/// Of one end: both are in this process, and alike. Two messages have gone over each connection,
/// some seconds before.
void measure_idle(int delegates, double seconds) {
  const CarrySettings settings{.links = 1, .delegates = delegates};
  MessageNumbers numbers;
  numbers.end_after(2 * delegates);
  std::array<CarryingRank, 2> ranks = {CarryingRank(0, settings, numbers),
                                       CarryingRank(1, settings, numbers)};
  for (std::size_t rank = 0; rank < 2; ++rank) ranks[rank].join(ranks[1 - rank].as_peer());
  std::thread other([&] { ranks[1].carry(); });
  ranks[0].carry();
  other.join();
  std::this_thread::sleep_for(std::chrono::seconds(5));
  const double before_s = processor_s();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  std::printf("idle %.1f ms\n", 1e3 * (processor_s() - before_s) / 2 * 10 / seconds);
  other = std::thread([&] { ranks[1].leave(); });
  ranks[0].leave();
  other.join();
}

int run(const std::vector<std::string>& words) {
  const std::string what = words.empty() ? "" : words[0];
  if (what == "rate" && words.size() == 3) return measure_rate(words[1], std::stoi(words[2])), 0;
  if (what == "latency" && words.size() == 2) return measure_latency(std::stoi(words[1])), 0;
  if (what == "idle" && words.size() == 3) return measure_idle(std::stoi(words[1]), std::stod(words[2])), 0;
  std::fprintf(stderr, "usage: verbs_bench rate KIND MESSAGES | latency MESSAGES | idle DELEGATES SECONDS\n");
  return 2;
}

}  // namespace
}  // namespace tenax::comm

int main(int argc, char** argv) {
  try {
    return tenax::comm::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "verbs_bench: %s\n", error.what());
    return 1;
  }
}
