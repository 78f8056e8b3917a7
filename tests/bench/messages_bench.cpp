// Rounds of a message server: one text to each of N clients, and an answer from each. messages_bench [ROUNDS]
//   16, threads: each client is a thread, as members are processes: a change of members is such a round
//   16 and 1000: one thread answers for all of the clients, one after the other
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/messages/message_client.hpp"
#include "comm/messages/message_server.hpp"
#include "comm/signal.hpp"

namespace {

using namespace tenax::comm;
using tenax::kernels::Deadline;
using tenax::kernels::steady_now_s;
using Clients = std::vector<std::unique_ptr<MessageClient>>;

Deadline soon() { return Deadline::after_s(60); }

class Counter final : public MessageHandler {
 public:
  void on_open(MessagePeerId, const std::string&) override { count(opened); }
  void on_message(MessagePeerId, const std::string&) override { count(answers); }
  void on_close(MessagePeerId, const std::string&) override {}
  void wait_for(std::atomic<std::size_t>& counter, std::size_t wanted) {
    signal_.wait_until([&] { return counter >= wanted; }, soon());
  }
  std::atomic<std::size_t> opened{0}, answers{0};

 private:
  void count(std::atomic<std::size_t>& counter) {
    ++counter;
    signal_.notify();
  }
  Signal signal_;
};

void answer(MessageClient& client) {
  if (const auto text = client.receive(soon())) client.send(*text);
}

/// `respond` makes all clients answer one round, or is empty where their own threads do.
template <class Respond>
void measure(const char* name, MessageServer& server, Counter& counter, std::size_t clients, int rounds,
             const Respond& respond) {
  const std::string text(200, 'x');
  std::vector<double> times_ms;
  for (int round = 0; round < rounds; ++round) {
    const double begin_s = steady_now_s();
    const std::size_t wanted = counter.answers + clients;
    for (MessagePeerId peer = 1; peer <= clients; ++peer) server.send(peer, text);
    respond();
    counter.wait_for(counter.answers, wanted);
    times_ms.push_back(1e3 * (steady_now_s() - begin_s));
  }
  std::sort(times_ms.begin(), times_ms.end());
  std::printf("%-14s %5zu clients  round: median %8.3f ms, worst %8.3f ms of %d\n", name, clients,
              times_ms[times_ms.size() / 2], times_ms.back(), rounds);
}

void run(std::size_t count, bool threads, int rounds) {
  const JobSecret secret = JobSecret::draw();
  Counter counter;
  MessageServer server({.secret = secret, .listen = {}, .interfaces = {"127.0.0.1"}}, counter);
  Clients clients;
  const double begin_s = steady_now_s();
  for (std::size_t i = 0; i < count; ++i)
    clients.push_back(std::make_unique<MessageClient>(MessageClientOptions{
        .secret = secret, .addresses = server.addresses(), .purpose = "bench", .deadline = soon()}));
  counter.wait_for(counter.opened, count);
  std::printf("%-14s %5zu clients  connected in %.3f ms, one after the other\n", "", count,
              1e3 * (steady_now_s() - begin_s));
  std::vector<std::thread> answering;
  if (threads)
    for (const auto& client : clients)
      answering.emplace_back([&client, rounds] {
        for (int round = 0; round < rounds; ++round) answer(*client);
      });
  measure(threads ? "threads" : "one thread", server, counter, count, rounds, [&] {
    if (!threads)
      for (const auto& client : clients) answer(*client);
  });
  for (std::thread& thread : answering) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1000;
  run(16, true, rounds);
  run(16, false, rounds);
  run(1000, false, std::max(1, rounds / 10));
}
