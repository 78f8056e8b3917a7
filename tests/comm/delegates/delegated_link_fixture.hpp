// A delegated link between two ranks that are threads of this process, for tests.
#pragma once

#include "comm/delegates/delegated_link.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "comm/link.hpp"
#include "comm/transport/transports.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/comm/transport/connection_checks.hpp"
#include "tests/comm/transport/meddling_transport.hpp"

namespace tenax::comm {
inline constexpr int kTags = 13;
inline constexpr double kPatience_s = 100;

/// A rank's end of a link.
struct End {
  End(std::unique_ptr<Transport> transport, std::unique_ptr<kernels::Device> its_device)
      : network(std::move(transport)), device(std::move(its_device)) {}

  MeddlingTransport network;
  std::unique_ptr<kernels::Device> device;
  HostStream stream;
  std::unique_ptr<DelegatedLink> link;
};

class DelegatedLinkTest : public ::testing::Test {
 protected:
  virtual std::unique_ptr<Transport> network_of(std::size_t rank, TransportKind kind) {
    static_cast<void>(rank);
    return create_transport({.kind = kind, .interfaces = {"lo"}, .secret = one_job()});
  }
  void make_ends(TransportKind transport = TransportKind::automatic) {
    for (std::size_t rank = 0; rank < 2; ++rank)
      ends.push_back(std::make_unique<End>(network_of(rank, transport), kernels::create_cpu_device()));
    for (int rank = 0; rank < 2; ++rank)
      peers.push_back({rank, "rank " + std::to_string(rank) + " (here)",
                       ends[static_cast<std::size_t>(rank)]->network.addresses()});
  }
  void make_link(std::size_t rank) {
    End& end = *ends[rank];
    end.link = create_delegated_link("p0", peers[rank], peers[1 - rank], end.network, *end.device, options);
  }
  void make_links(TransportKind transport = TransportKind::automatic) {
    make_ends(transport);
    make_link(0);
    make_link(1);
  }
  TransferPtr send(std::size_t rank, std::vector<float>& values, Tag tag) {
    return ends[rank]->link->send(ends[rank]->stream, tensor_of(values), tag);
  }
  TransferPtr receive(std::size_t rank, std::vector<float>& values, Tag tag) {
    return ends[rank]->link->receive(ends[rank]->stream, tensor_of(values), tag);
  }
  void exchange(std::size_t rank, int messages, unsigned seed);
  void exchange_both_ways(int messages, const std::function<void()>& meanwhile = {});

  Gate gate;  // for tests that hold messages; it outlives the ends
  std::vector<std::unique_ptr<End>> ends;
  std::vector<Peer> peers;
  DelegateOptions options{.delegates = 3};
};

/// Message i of a rank: its length and contents follow from both.
inline std::vector<float> message_of(std::size_t rank, int i) {
  std::mt19937 random(static_cast<unsigned>(i) * 2 + static_cast<unsigned>(rank));
  const std::size_t size = i % 499 == 3 ? 200000 + random() % 100000 : random() % 600;
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random() % 100000);
  return values;
}

/// What an executor does, in a random order: sends, posts, and now and then waits; receives may be far behind. It waits for
/// message i only when it has sent its own message i, so that two of them never wait for each other.
inline void DelegatedLinkTest::exchange(std::size_t rank, int messages, unsigned seed) {
  struct Flight {
    std::vector<float> values;
    int number;
    TransferPtr transfer;
  };
  std::mt19937 random(seed);
  std::deque<Flight> sends, receives;
  int sent = 0, received = 0;
  const auto finish = [&](std::deque<Flight>& flights, std::size_t left) {
    while (flights.size() > left && flights.front().number < sent) {
      Flight& flight = flights.front();
      flight.transfer->wait(Deadline::after_s(kPatience_s));
      const bool is_receive = &flights == &receives;
      ASSERT_EQ(flight.values, message_of(is_receive ? 1 - rank : rank, flight.number)) << flight.number;
      std::fill(flight.values.begin(), flight.values.end(),
                -1.0F);  // a send that is done may change its memory
      flights.pop_front();
    }
  };
  while (sent < messages || received < messages) {
    const bool sends_next = received == messages || (sent < messages && random() % 2 == 0);
    if (sends_next) {
      Flight& flight = sends.emplace_back(Flight{message_of(rank, sent), sent, nullptr});
      flight.transfer = send(rank, flight.values, sent % kTags);
      ++sent;
    } else {
      Flight& flight = receives.emplace_back(
          Flight{std::vector<float>(message_of(1 - rank, received).size()), received, nullptr});
      flight.transfer = receive(rank, flight.values, received % kTags);
      ++received;
    }
    if (random() % 50 == 0) finish(receives, random() % 40);
    if (random() % 50 == 0) finish(sends, random() % 40 + 100);
  }
  finish(receives, 0);
  finish(sends, 0);
}

inline void DelegatedLinkTest::exchange_both_ways(int messages, const std::function<void()>& meanwhile) {
  std::atomic<int> running{2};
  std::vector<std::thread> threads;
  for (const std::size_t rank : {0U, 1U})
    threads.emplace_back([&, rank] {
      try {
        exchange(rank, messages, static_cast<unsigned>(rank) + 5);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
      --running;
    });
  while (meanwhile && running == 2) meanwhile();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tenax::comm
