// Payload that goes from registered memory straight into the memory that its receiver offers.
#include "comm/delegates/delegated_link.hpp"
#include "tests/comm/asynchronous_ends.hpp"
#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm::verbs {
namespace {

/// Memory of one end, registered.
struct Registered {
  Registered(Transport& transport, std::size_t bytes)
      : memory(bytes), registration(transport.register_memory(memory)) {}
  std::vector<std::byte> memory;
  std::unique_ptr<MemoryRegistration> registration;
};

/// Remembers what was registered.
class RegisteringTransport final : public Transport {
 public:
  explicit RegisteringTransport(Transport& inner) : inner_(inner) {}
  std::vector<std::string> addresses() const override { return inner_.addresses(); }
  std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                      const std::string& purpose, Deadline deadline) override {
    return inner_.connect(peer, address, purpose, deadline);
  }
  std::unique_ptr<Connection> accept(const Peer& peer, const std::string& purpose,
                                     Deadline deadline) override {
    return inner_.accept(peer, purpose, deadline);
  }
  std::unique_ptr<MemoryRegistration> register_memory(std::span<std::byte> memory) override {
    const std::lock_guard lock(mutex_);
    registered_.push_back(memory);
    return inner_.register_memory(memory);
  }
  std::unique_ptr<MemoryRegistration> register_device_memory(std::span<std::byte> memory,
                                                             int dma_buf) override {
    return inner_.register_device_memory(memory, dma_buf);
  }
  /// Of messages that were written into it.
  std::size_t written(fake_verbs::Host& host) {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& memory : registered_) bytes += host.written(memory);
    return bytes;
  }

 private:
  Transport& inner_;
  std::mutex mutex_;
  std::vector<std::span<std::byte>> registered_;
};

class VerbsOffers : public VerbsTest {
 protected:
  VerbsOffers() : VerbsTest(2) {}
  static constexpr std::size_t kBytes = 1000000, kLeast = 1000;

  /// The offer is there before the next message.
  void connect(std::size_t least = kLeast) {
    pair().connect();
    one().offer(least);
    send(one(), {});
    receive(zero());
  }
  std::string receive_into(std::span<std::byte> memory, double deadline_s = 20) {
    return error_of([&] {
      const auto header = one().receive(Deadline::after_s(deadline_s));
      ASSERT_EQ(header->payload_bytes, memory.size());
      one().receive_payload(memory, Deadline::after_s(deadline_s));
    });
  }
  /// How much of a payload has been written straight into `to`.
  std::size_t written_in_place(std::span<const std::byte> from, std::span<std::byte> to) {
    const std::size_t before = host.written(to);
    std::thread sender([&] { send(zero(), from); });
    EXPECT_EQ(receive_into(to), "no error");
    sender.join();
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin(), to.end()));
    return host.written(to) - before;
  }
  Registered source() {
    Registered from(*pair().transports[0], kBytes);
    std::mt19937 random(1);
    std::copy_n(random_bytes(random, kBytes).begin(), kBytes, from.memory.begin());
    return from;
  }
};

TEST_F(VerbsOffers, payload_lands_where_it_is_received) {
  connect();
  const Registered from = source();
  Registered to(*pair().transports[1], kBytes);
  for (const std::size_t bytes : {kLeast, std::size_t{262144}, std::size_t{262145}, kBytes})
    EXPECT_EQ(written_in_place(std::span(from.memory).first(bytes), std::span(to.memory).first(bytes)),
              bytes);
}

TEST_F(VerbsOffers, what_is_short_or_not_registered_goes_through_the_ring) {
  connect();
  const Registered from = source();
  Registered to(*pair().transports[1], kBytes);
  std::vector<std::byte> other(kBytes);
  EXPECT_EQ(
      written_in_place(std::span(from.memory).first(kLeast - 1), std::span(to.memory).first(kLeast - 1)), 0U);
  EXPECT_EQ(written_in_place(from.memory, other), 0U);
  std::copy(from.memory.begin(), from.memory.end(), other.begin());
  EXPECT_EQ(written_in_place(other, to.memory), 0U);
}

TEST_F(VerbsOffers, nothing_is_offered_unless_the_receiver_says_so_and_no_more_when_it_takes_that_back) {
  pair().connect();
  const Registered from = source();
  Registered to(*pair().transports[1], kBytes);
  EXPECT_EQ(written_in_place(from.memory, to.memory), 0U);
  one().offer(kLeast);
  send(one(), {});
  receive(zero());
  EXPECT_EQ(written_in_place(from.memory, to.memory), kBytes);
  one().offer(0);
  send(one(), {});
  receive(zero());
  EXPECT_EQ(written_in_place(from.memory, to.memory), 0U);
}

/// It is not memory for all of it.
TEST_F(VerbsOffers, a_payload_that_is_received_in_parts_goes_through_the_ring) {
  connect();
  const Registered from = source();
  Registered to(*pair().transports[1], kBytes);
  std::thread sender([&] { send(zero(), from.memory); });
  one().receive(Deadline::after_s(20));
  const std::span<std::byte> whole = to.memory;
  for (const auto part : {whole.first(10), whole.subspan(10)})
    one().receive_payload(part, Deadline::after_s(20));
  sender.join();
  EXPECT_EQ(to.memory, from.memory);
  EXPECT_EQ(host.written(to.memory), 0U);
}

TEST_F(VerbsOffers, hundreds_of_messages_of_all_sizes_mix) {
  connect();
  const Registered from = source();
  Registered to(*pair().transports[1], kBytes);
  std::mt19937 sizes(3), same(3);
  const auto next = [](std::mt19937& random) { return random() % (random() % 4 == 0 ? kBytes : 2 * kLeast); };
  std::thread sender([&] {
    for (int i = 0; i < 300; ++i) send(zero(), std::span(from.memory).first(next(sizes)));
  });
  for (int i = 0; i < 300; ++i) {
    const auto part = std::span(to.memory).first(next(same));
    ASSERT_EQ(receive_into(part), "no error");
    ASSERT_TRUE(std::equal(part.begin(), part.end(), from.memory.begin()));
    std::fill(part.begin(), part.end(), std::byte{0});
  }
  sender.join();
}

TEST_F(VerbsOffers, a_sender_that_is_not_answered_ends_at_its_deadline) {
  connect();
  const Registered from = source();
  const std::string message = error_of([&] { send(zero(), from.memory, 0.1); });
  EXPECT_NE(message.find("did not take the message before the deadline"), std::string::npos) << message;
}

/// The receiver gives up, or is told to; then the path carries again what it has lost so far.
TEST_F(VerbsOffers, nothing_lands_once_the_receiver_has_given_up) {
  for (const bool is_shut_down : {false, true}) {
    new_pair();
    connect();
    const Registered from = source();
    Registered to(*pair().transports[1], kBytes);
    const std::size_t before = host.written(to.memory);
    std::thread sender([&] { error_of([&] { send(zero(), from.memory); }); });
    one().receive(Deadline::after_s(20));
    host.set_path("fake0", "fake1", {.is_lossy = true});
    std::thread ender([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (is_shut_down) one().shut_down();
    });
    const auto deadline = Deadline::after_s(is_shut_down ? 20 : 0.1);
    EXPECT_NE(error_of([&] { one().receive_payload(to.memory, deadline); }), "no error");
    host.set_path("fake0", "fake1", {});
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(host.written(to.memory), before);
    EXPECT_NE(error_of([&] { one().receive(Deadline::after_s(20)); }), "no error") << "broken for ever";
    ender.join();
    pair().ends[1]->shut_down();
    sender.join();
  }
}

TEST_F(VerbsOffers, a_path_that_loses_the_payload_breaks_the_connection_at_both_ends) {
  connect();
  const Registered from = source();
  Registered to(*pair().transports[1], kBytes);
  std::string sent;
  std::thread sender([&] { sent = error_of([&] { send(zero(), from.memory); }); });
  one().receive(Deadline::after_s(20));
  host.set_path("fake0", "fake1", {.is_lossy = true});
  EXPECT_NE(error_of([&] { one().receive_payload(to.memory, Deadline::after_s(20)); }), "no error");
  sender.join();
  EXPECT_NE(sent.find("acknowledged"), std::string::npos) << sent;
}

/// Devices that copy: messages pass through registered host buffers at both ends.
TEST_F(VerbsOffers, delegates_offer_the_host_buffers_of_asynchronous_devices) {
  std::unique_ptr<kernels::Device> devices[2];
  std::unique_ptr<kernels::Stream> streams[2];
  std::unique_ptr<RegisteringTransport> networks[2];
  std::unique_ptr<DelegatedLink> links[2];
  ConnectedPair& ranks = pair();
  for (std::size_t rank : {0U, 1U}) {
    devices[rank] = kernels::test::create_stand_in({.jitter_us = 100, .seed = rank, .registers = true});
    streams[rank] = devices[rank]->create_stream();
    networks[rank] = std::make_unique<RegisteringTransport>(*ranks.transports[rank]);
    links[rank] = create_delegated_link("p", ranks.peers[rank], ranks.peers[1 - rank], *networks[rank],
                                        *devices[rank], {.delegates = 2});
  }
  const std::vector<float> values(kBytes / sizeof(float), 5);
  for (int i = 0; i < 20; ++i) {
    DeviceFloats from(*devices[0], values.size()), to(*devices[1], values.size());
    const TransferPtr receive = links[1]->receive(*streams[1], to.tensor(), 0);
    from.write(*streams[0], values);
    const TransferPtr send = links[0]->send(*streams[0], from.tensor(), 0);
    receive->wait(patience());
    send->wait(patience());
    to.fetch(*streams[1]);
    streams[1]->synchronize(patience());
    ASSERT_EQ(to.values(), values);
  }
  const std::size_t written = networks[1]->written(host);
  EXPECT_GT(written, kBytes) << "a new connection's first messages may come before its offer";
  EXPECT_EQ(links[0]->copied_bytes(), 0U) << "it leaves from where it lies";
  EXPECT_EQ(links[1]->copied_bytes(), 20 * kBytes - written);
}

}  // namespace
}  // namespace tenax::comm::verbs
