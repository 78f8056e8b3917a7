// A connection whose other end, played by hand, says what no end says.
#include <infiniband/verbs.h>

#include <cstring>
#include <thread>

#include "comm/verbs/verbs_connection.hpp"
#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm::verbs {
namespace {

class VerbsWire : public VerbsTest {
 protected:
  void SetUp() override {
    connection = std::make_unique<VerbsConnection>(
        VerbsPath{fake_port(one), PortAddress(fake_port(zero)), {kRing}, {kRing}, {}}, "verbs:here", table,
        std::make_shared<PathBook>(false), PathSeat{}, std::make_shared<Worker>());
    const EndAddress end = connection->end();
    connection->open(
        {outgoing.address(),
         incoming.address(),
         {reinterpret_cast<std::uint64_t>(memory.memory().data()), memory.registration().remote_key()},
         {reinterpret_cast<std::uint64_t>(answers.memory().data()), answers.registration().remote_key()}});
    outgoing.connect(PortAddress(fake_port(one)), end.incoming, {});
    incoming.connect(PortAddress(fake_port(one)), end.outgoing, {});
    ring = end.ring;
    answers_of_sender = end.answers;
  }
  void TearDown() override { connection->shut_down(); }
  /// Writes the first `bytes` of the memory to a place in the ring, and waits for the acknowledgement.
  void write(std::uint32_t mark, std::uint32_t bytes, std::uint64_t place = 0) {
    const ibv_sge part{reinterpret_cast<std::uint64_t>(memory.memory().data()), bytes,
                       memory.registration().local_key()};
    outgoing.post_write({&part, 1}, {ring.address + place, ring.key}, mark);
    while (outgoing.sends_under_way() > 0) outgoing.next();
  }
  void put(const MessageHeader& header) {
    const HeaderBytes bytes = encode(header);
    std::copy(bytes.begin(), bytes.end(), memory.memory().begin());
  }
  std::string refusal() {
    return error_of([&] {
      const auto header = connection->receive(Deadline::after_s(5));
      if (!header) return;
      std::vector<std::byte> payload(header->payload_bytes);
      connection->receive_payload(payload, Deadline::after_s(5));
    });
  }
  void expect_refusal() { EXPECT_NE(refusal().find("is no message"), std::string::npos); }

  static constexpr std::size_t kRing = 65536;
  std::shared_ptr<MemoryTable> table = std::make_shared<MemoryTable>();
  std::shared_ptr<Device> zero = Device::open("fake0"), one = Device::open("fake1");
  RegisteredBuffer memory{zero, 2 * kRing, RegisteredMemory::Access::remote_write};
  RegisteredBuffer answers{zero, 4096, RegisteredMemory::Access::remote_write};
  QueuePair outgoing{fake_port(zero), {64, 16}}, incoming{fake_port(zero), {16, 64}};
  RemoteMemory ring, answers_of_sender;
  std::unique_ptr<VerbsConnection> connection;
};

TEST_F(VerbsWire, a_header_comes_through_as_it_was_sent) {
  MessageHeader header;
  header.kind = -3;
  header.tag = 5;
  header.number = 1;
  header.sequence = 2;
  header.bytes = header.payload_bytes = 16;
  header.started_s = 0.5;
  header.shared_buffer = 7;
  header.late_s = 0.25;
  put(header);
  write(FrameMark{80, true}.value(), 80);
  const auto come = connection->receive(Deadline::after_s(5));
  ASSERT_TRUE(come);
  EXPECT_EQ(encode(*come), encode(header));
  EXPECT_EQ(come->late_s, 0.25);
  EXPECT_EQ(come->payload_bytes, 16U);
}

TEST_F(VerbsWire, a_length_that_was_not_written_is_refused) {
  put({});
  write(FrameMark{128, true}.value(), 64);
  expect_refusal();
}
TEST_F(VerbsWire, a_message_shorter_than_a_header_is_refused) {
  write(FrameMark{32, true}.value(), 32);
  expect_refusal();
}
TEST_F(VerbsWire, a_frame_of_nothing_is_refused) {
  write(FrameMark{0, false}.value(), 0);
  expect_refusal();
}
TEST_F(VerbsWire, payload_without_a_message_is_refused) {
  write(FrameMark{64, false}.value(), 64);
  expect_refusal();
}
TEST_F(VerbsWire, a_message_in_the_middle_of_another_is_refused) {
  MessageHeader header;
  header.payload_bytes = 1000;
  put(header);
  write(FrameMark{64, true}.value(), 64);
  write(FrameMark{64, true}.value(), 64, 64);
  expect_refusal();
}
TEST_F(VerbsWire, more_than_the_ring_holds_is_refused) {
  MessageHeader header;
  header.payload_bytes = 3 * kRing;
  put(header);
  write(FrameMark{kRing, true}.value(), kRing);
  write(FrameMark{64, false}.value(), 64);
  expect_refusal();
}
TEST_F(VerbsWire, a_frame_across_the_rings_end_is_refused) {
  MessageHeader header;
  header.payload_bytes = 3 * kRing;
  put(header);
  write(FrameMark{kRing - 64, true}.value(), kRing - 64);
  write(FrameMark{128, false}.value(), 128);
  expect_refusal();
}
TEST_F(VerbsWire, memory_that_was_not_offered_cannot_be_written) {
  write(FrameMark{64, false}.value(), 64, kRing - 32);
  ASSERT_TRUE(outgoing.fault());
  EXPECT_EQ(outgoing.fault()->reason, BreakReason::own_fault);
  EXPECT_NE(refusal(), "no error");
}

TEST_F(VerbsWire, a_credit_for_what_was_not_sent_ends_the_connection) {
  incoming.post_immediate(Credit{.units = Credit::kMostUnits, .frames = 0}.value());
  const std::string message = error_of([&] {
    for (int i = 0; i < 10000; ++i) send(*connection, std::vector<std::byte>(100));
  });
  EXPECT_NE(message.find("has taken more than was sent"), std::string::npos) << message;
}

/// The header of a payload that waits for its answer, in the ring.
TEST_F(VerbsWire, a_question_without_a_payload_is_refused) {
  put({});
  write(FrameMark{64, true, true}.value(), 64);
  expect_refusal();
}
TEST_F(VerbsWire, a_question_that_comes_with_payload_is_refused) {
  MessageHeader header;
  header.payload_bytes = 100;
  put(header);
  write(FrameMark{128, true, true}.value(), 128);
  expect_refusal();
}
TEST_F(VerbsWire, payload_that_says_it_is_in_memory_that_was_not_offered_is_refused) {
  MessageHeader header;
  header.payload_bytes = 1000;
  put(header);
  write(FrameMark{64, true}.value(), 64);
  write(FrameMark{64, false, true}.value(), 64, 64);
  expect_refusal();
}

TEST_F(VerbsWire, an_answer_that_was_not_asked_for_ends_the_connection) {
  const ibv_sge part{reinterpret_cast<std::uint64_t>(memory.memory().data()), sizeof(OfferedMemory),
                     memory.registration().local_key()};
  incoming.post_write({&part, 1}, answers_of_sender, kAnswer);
  const std::string message = error_of([&] {
    for (int i = 0; i < 10000; ++i) send(*connection, std::vector<std::byte>(100));
  });
  EXPECT_NE(message.find("answers what was not asked"), std::string::npos) << message;
}

/// Its payload lies in memory of its own that the receiver has registered.
class VerbsOffer : public VerbsWire {
 protected:
  void SetUp() override {
    VerbsWire::SetUp();
    MessageHeader header;
    header.payload_bytes = destination.size();
    put(header);
    write(FrameMark{64, true, true}.value(), 64);
    receiver = std::thread([this] {
      message = error_of([this] {
        connection->receive(Deadline::after_s(5));
        connection->receive_payload(destination, Deadline::after_s(20));
      });
    });
    const auto deadline = Deadline::after_s(20);
    while (!outgoing.next() && !deadline.expired()) std::this_thread::yield();
    std::memcpy(&offer, answers.memory().data(), sizeof offer);
    ASSERT_EQ(offer.bytes, destination.size());
  }
  void TearDown() override {
    if (receiver.joinable()) receiver.join();
    VerbsWire::TearDown();
  }
  /// Writes `bytes` and says `said` of them.
  void write_there(std::uint32_t said, std::uint32_t bytes, std::uint64_t place = 0,
                   std::uint32_t wrong_key = 0) {
    const ibv_sge part{reinterpret_cast<std::uint64_t>(memory.memory().data()), bytes,
                       memory.registration().local_key()};
    outgoing.post_write({&part, 1}, {offer.address + place, offer.key + wrong_key},
                        FrameMark{said, false, true}.value());
    while (outgoing.sends_under_way() > 0) outgoing.next();
  }
  void expect_offer_refused() {
    receiver.join();
    EXPECT_NE(message.find("is no message"), std::string::npos) << message;
  }

  std::vector<std::byte> destination = std::vector<std::byte>(4096);
  std::unique_ptr<MemoryRegistration> registration = table->add(destination);
  OfferedMemory offer;
  std::string message;
  std::thread receiver;
};

TEST_F(VerbsOffer, is_kept) {
  std::fill_n(memory.memory().begin(), 4096, std::byte{3});
  write_there(1000, 1000);
  write_there(3096, 3096, 1000);
  receiver.join();
  EXPECT_EQ(message, "no error");
  EXPECT_EQ(destination, std::vector<std::byte>(4096, std::byte{3}));
}
TEST_F(VerbsOffer, a_length_that_was_not_written_is_refused) {
  write_there(4096, 1000);
  expect_offer_refused();
}
TEST_F(VerbsOffer, more_than_was_offered_is_refused) {
  write_there(4000, 4000);
  write_there(97, 97);
  expect_offer_refused();
}
TEST_F(VerbsOffer, payload_in_the_ring_instead_is_refused) {
  write(FrameMark{64, false}.value(), 64, 64);
  expect_offer_refused();
}
TEST_F(VerbsOffer, another_message_instead_is_refused) {
  write(FrameMark{64, true}.value(), 64, 64);
  expect_offer_refused();
}
TEST_F(VerbsOffer, a_place_beyond_it_cannot_be_written) {
  write_there(64, 64, 4096);
  ASSERT_TRUE(outgoing.fault());
  EXPECT_EQ(outgoing.fault()->reason, BreakReason::own_fault);
  receiver.join();
  EXPECT_NE(message, "no error");
}
TEST_F(VerbsOffer, a_wrong_key_writes_nothing) {
  write_there(64, 64, 0, 1000);
  ASSERT_TRUE(outgoing.fault());
  EXPECT_EQ(outgoing.fault()->reason, BreakReason::own_fault);
  receiver.join();
  EXPECT_NE(message, "no error");
  EXPECT_EQ(destination, std::vector<std::byte>(4096));
}

TEST_F(VerbsWire, an_ends_text_means_the_end_it_was_written_of) {
  const std::string text = connection->end().text();
  EXPECT_EQ(EndAddress::parse(text)->text(), text);
  EXPECT_EQ(EndAddress::parse(text + " 1"), std::nullopt);
  EXPECT_EQ(EndAddress::parse("16777216 0 0 0 0 0 0 0"), std::nullopt);
  EXPECT_EQ(EndAddress::parse("1 2 3 4 5 6 7"), std::nullopt);
  EXPECT_EQ(EndAddress::parse("1 2 3 4 -5 6 7 8"), std::nullopt);
  EXPECT_EQ(EndAddress::parse("1 2 3 4 5 99999999999 7 8"), std::nullopt);
}

}  // namespace
}  // namespace tenax::comm::verbs
