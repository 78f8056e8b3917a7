// Delegated links of devices whose operations run later than their launch.
#include <atomic>
#include <deque>
#include <random>
#include <thread>

#include "tests/comm/asynchronous_ends.hpp"
#include "tests/comm/transport/connection_checks.hpp"

namespace tenax::comm {
namespace {

constexpr int kTags = 13;
const std::vector<float> kOnes(1000, 1), kTwos(1000, 2);

class AsynchronousDelegatedLink : public AsynchronousEnds {
 protected:
  void exchange(int rank, int messages);
  void exchange_both_ways(int messages, const std::function<void()>& meanwhile = {});

  kernels::Device& device(int rank) { return *ends[rank]->device; }
  kernels::Stream& stream(int rank) { return *ends[rank]->stream; }
  DelegatedLink& link(int rank) { return *ends[rank]->link; }
  TransferPtr send(int rank, DeviceFloats& floats, const std::vector<float>& values) {
    floats.write(stream(rank), values);
    return link(rank).send(stream(rank), floats.tensor(), 0);
  }
  std::vector<float> fetched(int rank, DeviceFloats& floats) {
    floats.fetch(stream(rank));
    stream(rank).synchronize(patience());
    return floats.values();
  }
};

std::vector<float> message_of(int rank, int i) {
  std::mt19937 random(static_cast<unsigned>(2 * i + rank));
  const bool is_large = i % 97 == 3, has_place = i % 3 == 1;  // more than a page has
  std::vector<float> values(is_large ? 50000 + random() % 50000 : random() % 600 + (has_place ? 1024 : 0));
  for (float& value : values) value = static_cast<float>(random() % 100000);
  return values;
}

/// Sends and posts in a random order; of each message the host or the device waits for, the device reads what came.
void AsynchronousDelegatedLink::exchange(int rank, int messages) {
  struct Flight {
    DeviceFloats floats;
    TransferPtr transfer;
  };
  std::mt19937 random(static_cast<unsigned>(rank));
  const auto reading = device(rank).create_stream();
  std::deque<Flight> sends, receives;
  const auto finish = [&](Flight& flight) {
    if (random() % 2 == 0) flight.transfer->wait(patience());
    flight.transfer->order_before(*reading, patience());
    flight.floats.fetch(*reading);
  };
  std::size_t finished = 0;
  const auto next = [&](const std::deque<Flight>& flights) { return static_cast<int>(flights.size()); };
  while (next(sends) < messages || next(receives) < messages) {
    const bool sends_next = next(receives) == messages || (next(sends) < messages && random() % 2 == 0);
    if (sends_next) {
      const std::vector<float> values = message_of(rank, next(sends));
      const Tag tag = next(sends) % kTags;
      Flight& flight = sends.emplace_back(Flight{DeviceFloats(device(rank), values.size()), nullptr});
      flight.floats.write(stream(rank), values);
      flight.transfer = link(rank).send(stream(rank), flight.floats.tensor(), tag);
    } else {
      const std::size_t size = message_of(1 - rank, next(receives)).size();
      const Tag tag = next(receives) % kTags;
      Flight& flight = receives.emplace_back(Flight{DeviceFloats(device(rank), size), nullptr});
      flight.transfer = link(rank).receive(stream(rank), flight.floats.tensor(), tag);
    }
    while (random() % 10 == 0 && finished < receives.size() && finished < sends.size())
      finish(receives[finished++]);
  }
  while (finished < receives.size()) finish(receives[finished++]);
  reading->synchronize(patience());
  for (Flight& flight : sends) flight.transfer->wait(patience());
  for (int i = 0; i < messages; ++i) {
    Flight& flight = receives[static_cast<std::size_t>(i)];
    ASSERT_TRUE(flight.transfer->done());
    ASSERT_EQ(flight.floats.values(), message_of(1 - rank, i)) << i;
    EXPECT_TRUE(flight.transfer->timing().arrived_s.has_value());
  }
}

void AsynchronousDelegatedLink::exchange_both_ways(int messages, const std::function<void()>& meanwhile) {
  std::atomic<int> running{2};
  std::vector<std::thread> threads;
  for (const int rank : {0, 1})
    threads.emplace_back([&, rank] {
      try {
        exchange(rank, messages);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
      --running;
    });
  while (meanwhile && running == 2) meanwhile();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AsynchronousDelegatedLink, carries_random_messages_of_many_tags_both_ways_at_once) {
  make_links();
  exchange_both_ways(300);
}

TEST_F(AsynchronousDelegatedLink, carries_random_messages_of_many_tags_both_ways_at_once_over_tcp) {
  make_ends(TransportKind::tcp);
  make_links();
  exchange_both_ways(300);
}

TEST_F(AsynchronousDelegatedLink, broken_connections_lose_double_and_reorder_nothing) {
  for (const TransportKind transport :
       {TransportKind::automatic, TransportKind::shared_memory, TransportKind::tcp}) {
    make_ends(transport);
    make_links();
    std::mt19937 random(3);
    exchange_both_ways(600, [&] {
      ends[random() % 2]->network.break_one(random);
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 8));
    });
    const int at_first = 2 * 3 + (transport == TransportKind::tcp ? 0 : 1);  // delegates, shared buffers
    EXPECT_GT(ends[0]->network.connections(), at_first) << static_cast<int>(transport);
    for (const int rank : {0, 1}) ends[rank]->link.reset();
  }
}

TEST_F(AsynchronousDelegatedLink, a_slow_link_holds_no_send) {
  const auto slow = std::make_shared<Gate>();
  ends[0]->network.on_send([slow](const MessageHeader&) { slow->pass(); });
  make_links();
  DeviceFloats there(device(1), 3000), here(device(0), 3000);
  for (const float value : {1.0F, 2.0F}) {
    const TransferPtr received = link(1).receive(stream(1), there.tensor(), 0);
    const TransferPtr sent = send(0, here, std::vector<float>(3000, value));
    sent->wait(patience());
    EXPECT_FALSE(received->done() && value == 1.0F);
    slow->open();
    received->wait(patience());
    EXPECT_EQ(fetched(1, there), std::vector<float>(3000, value));
  }
}

TEST_F(AsynchronousDelegatedLink, the_device_waits_for_a_message_that_has_not_been_sent) {
  make_links();
  DeviceFloats there(device(1), kOnes.size()), here(device(0), kOnes.size());
  const TransferPtr received = link(1).receive(stream(1), there.tensor(), 0);
  EXPECT_TRUE(received->orders_without_blocking());
  received->order_before(stream(1), patience());
  there.fetch(stream(1));
  const auto mark = device(1).create_event();
  stream(1).record(*mark);
  EXPECT_FALSE(received->done());
  EXPECT_FALSE(mark->done());
  const TransferPtr sent = send(0, here, kTwos);
  stream(1).synchronize(patience());
  EXPECT_EQ(there.values(), kTwos);
  EXPECT_TRUE(received->done());
  sent->wait(patience());
}

TEST_F(AsynchronousDelegatedLink, a_message_that_came_first_is_copied_when_its_receive_is_posted) {
  make_links();
  DeviceFloats there(device(1), kOnes.size()), here(device(0), kOnes.size());
  const TransferPtr sent = send(0, here, kTwos);
  sent->wait(patience());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const TransferPtr received = link(1).receive(stream(1), there.tensor(), 0);
  received->wait(patience());
  EXPECT_EQ(fetched(1, there), kTwos);
}

TEST_F(AsynchronousDelegatedLink, a_send_leaves_when_its_tensor_is_made_and_orders_what_overwrites_it) {
  make_links();
  DeviceFloats there(device(1), kOnes.size()), here(device(0), kOnes.size());
  const TransferPtr received = link(1).receive(stream(1), there.tensor(), 0);
  const auto gate = device(0).create_flag();
  const auto overwriting = device(0).create_stream();
  stream(0).wait(*gate, 1);
  const TransferPtr sent = send(0, here, kTwos);
  EXPECT_TRUE(sent->orders_without_blocking());
  sent->order_before(*overwriting, patience());
  device(0).kernels().zero(*overwriting, here.tensor());
  EXPECT_FALSE(sent->done());
  gate->set(1);
  received->wait(patience());
  EXPECT_EQ(fetched(1, there), kTwos);
  sent->wait(patience());
  overwriting->synchronize(patience());
  EXPECT_EQ(fetched(0, here), std::vector<float>(kOnes.size(), 0));
}

TEST_F(AsynchronousDelegatedLink, a_receive_writes_only_after_what_its_tensor_was_used_for) {
  make_links();
  DeviceFloats there(device(1), kOnes.size()), here(device(0), kOnes.size());
  const auto gate = device(1).create_flag();
  there.write(stream(1), kOnes);
  stream(1).synchronize(patience());
  stream(1).wait(*gate, 1);
  there.fetch(stream(1));
  const TransferPtr received = link(1).receive(stream(1), there.tensor(), 0);
  const TransferPtr sent = send(0, here, kTwos);
  sent->wait(patience());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(received->done());
  gate->set(1);
  stream(1).synchronize(patience());
  EXPECT_EQ(there.values(), kOnes) << "what was there before";
  received->wait(patience());
  EXPECT_EQ(fetched(1, there), kTwos);
}

TEST_F(AsynchronousDelegatedLink, a_link_that_fails_lets_the_device_go_and_says_so) {
  make_links();
  DeviceFloats there(device(1), kOnes.size());
  const TransferPtr received = link(1).receive(stream(1), there.tensor(), 0);
  received->order_before(stream(1), patience());
  ends[0]->link.reset();
  stream(1).synchronize(patience());
  const std::string message = error_of([&] { received->wait(patience()); });
  EXPECT_NE(message.find("rank 0 (here) has closed it"), std::string::npos) << message;
  const TransferPtr late = link(1).receive(stream(1), there.tensor(), 1);
  EXPECT_NE(error_of([&] { late->order_before(stream(1), patience()); }), "no error");
}

TEST_F(AsynchronousDelegatedLink, a_receive_that_is_given_up_lets_the_device_go) {
  make_links();
  DeviceFloats there(device(1), kOnes.size());
  TransferPtr received = link(1).receive(stream(1), there.tensor(), 0);
  received->order_before(stream(1), patience());
  EXPECT_NE(error_of([&] { received->wait(kernels::Deadline::after_s(0.05)); }), "no error");
  received.reset();
  stream(1).synchronize(patience());
}

TEST_F(AsynchronousDelegatedLink, closing_waits_until_what_the_device_has_still_to_make_has_arrived) {
  make_links();
  DeviceFloats there(device(1), kOnes.size()), here(device(0), kOnes.size());
  const TransferPtr received = link(1).receive(stream(1), there.tensor(), 0);
  const auto gate = device(0).create_flag();
  stream(0).wait(*gate, 1);
  const TransferPtr sent = send(0, here, kTwos);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    gate->set(1);
  });
  ends[0]->link.reset();
  opener.join();
  received->wait(patience());
  EXPECT_EQ(fetched(1, there), kTwos);
}

}  // namespace
}  // namespace tenax::comm
