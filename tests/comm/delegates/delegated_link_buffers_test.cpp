// Delegated links between devices of one host: the sender's copies fill the memory that the receiver's read.
#include <thread>

#include "comm/buffers/shared_buffer_pool.hpp"
#include "comm/inbox/inbox.hpp"
#include "comm/pieces.hpp"
#include "tests/comm/asynchronous_ends.hpp"
#include "tests/comm/transport/connection_checks.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kPieceFloats = kPieceBytes / sizeof(float);

class DelegatedBuffers : public AsynchronousEnds {
 protected:
  DelegatedLink& link(int rank) { return *ends[rank]->link; }
  std::uint64_t copied() { return link(0).copied_bytes() + link(1).copied_bytes(); }

  enum class Receive { posted_first_and_awaited_by_the_device, posted_first, posted_late };
  struct Message {
    DeviceFloats here, there;
    TransferPtr sent, received;
  };
  /// Messages from rank 0 to rank 1, all under way at a time, that arrive as they left.
  void pass(std::size_t floats, Receive how, float seed, int count = 1) {
    std::vector<float> values(floats);
    for (std::size_t i = 0; i < floats; ++i) values[i] = seed + static_cast<float>(i % 1000);
    kernels::Stream& reading = *ends[1]->stream;
    std::vector<Message> messages;
    for (int i = 0; i < count; ++i)
      messages.push_back({{*ends[0]->device, floats}, {*ends[1]->device, floats}, nullptr, nullptr});
    const auto post = [&] {
      for (Tag tag = 0; Message & message : messages)
        message.received = link(1).receive(reading, message.there.tensor(), tag++);
    };
    if (how != Receive::posted_late) post();
    for (Tag tag = 0; Message & message : messages) {
      if (how == Receive::posted_first_and_awaited_by_the_device)
        message.received->order_before(reading, patience());
      message.here.write(*ends[0]->stream, values);
      message.sent = link(0).send(*ends[0]->stream, message.here.tensor(), tag++);
    }
    for (const Message& message : messages) message.sent->wait(patience());
    if (how == Receive::posted_late) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      post();
    }
    for (Message& message : messages) {
      if (how != Receive::posted_first_and_awaited_by_the_device) message.received->wait(patience());
      message.there.fetch(reading);
    }
    reading.synchronize(patience());
    for (const Message& message : messages) {
      EXPECT_TRUE(message.there.values() == values);
      message.received->wait(patience());
    }
  }
  /// False if in a minute no message went without a processor's help.
  bool buffers_open() {
    for (const kernels::Deadline deadline = patience(); !deadline.expired();) {
      const std::uint64_t before = copied();
      pass(2000, Receive::posted_first, 1);
      if (copied() == before) return true;
    }
    return false;
  }
};

TEST_F(DelegatedBuffers, no_processor_touches_a_message) {
  make_links();
  ASSERT_TRUE(buffers_open());
  const std::uint64_t before = copied();
  float seed = 0;
  for (const std::size_t floats :
       {std::size_t{1024}, std::size_t{50001}, kPieceFloats, 2 * kPieceFloats + 77})
    for (const Receive how : {Receive::posted_first_and_awaited_by_the_device, Receive::posted_first,
                              Receive::posted_late, Receive::posted_first})
      pass(floats, how, ++seed);
  EXPECT_EQ(copied(), before);
}

TEST_F(DelegatedBuffers, buffers_are_used_again) {
  make_links();
  ASSERT_TRUE(buffers_open());
  const std::uint64_t before = copied();
  constexpr int kMoreThanBothEndsHave = 8400, kAtATime = 30;
  for (int i = 0; i < kMoreThanBothEndsHave / kAtATime; ++i)
    pass(2000, i % 2 == 0 ? Receive::posted_late : Receive::posted_first, 3, kAtATime);
  EXPECT_EQ(copied(), before);
}

TEST_F(DelegatedBuffers, where_one_device_refuses_processors_help) {
  for (const int refuses : {0, 1}) {
    for (const int rank : {0, 1})
      ends[rank] = std::make_unique<AsynchronousEnd>(7, TransportKind::automatic, rank != refuses);
    make_links();
    float seed = 10;
    for (const Receive how :
         {Receive::posted_first_and_awaited_by_the_device, Receive::posted_first, Receive::posted_late})
      for (int i = 0; i < 20; ++i) pass(kPieceFloats + 5, how, ++seed);
    EXPECT_GT(copied(), 0U);
    for (const int rank : {0, 1}) ends[rank]->link.reset();
  }
}

TEST_F(DelegatedBuffers, without_shared_memory_messages_go_over_their_connections) {
  for (const int rank : {0, 1}) ends[rank] = std::make_unique<AsynchronousEnd>(7, TransportKind::tcp);
  make_links();
  for (int i = 0; i < 5; ++i) pass(20000, Receive::posted_first, 4);
  EXPECT_EQ(link(0).copied_bytes(), 5U * 20000 * sizeof(float));
}

TEST_F(DelegatedBuffers, both_ends_must_name_the_same_count) {
  make_links();
  ASSERT_TRUE(buffers_open());
  DeviceFloats here(*ends[0]->device, 9000), there(*ends[1]->device, 5000);
  const TransferPtr received = link(1).receive(*ends[1]->stream, there.tensor(), 3);
  const TransferPtr sent = link(0).send(*ends[0]->stream, here.tensor(), 3);
  const std::string message = error_of([&] { received->wait(patience()); });
  EXPECT_NE(message.find("rank 0 (here) sent 36000 bytes"), std::string::npos) << message;
  sent->wait(patience());
}

TEST_F(DelegatedBuffers, a_link_closes_while_the_device_waits_for_a_message_with_a_buffer) {
  make_links();
  ASSERT_TRUE(buffers_open());
  DeviceFloats there(*ends[1]->device, 3 * kPieceFloats);
  const TransferPtr received = link(1).receive(*ends[1]->stream, there.tensor(), 0);
  received->order_before(*ends[1]->stream, patience());
  ends[0]->link.reset();
  ends[1]->stream->synchronize(patience());
  EXPECT_NE(error_of([&] { received->wait(patience()); }), "no error");
}

/// An inbox, and a sender that copies as slowly as a test wants.
class SlowSender : public AsynchronousEnds {
 protected:
  SlowSender() {
    const Peer peers[] = {{0, "zero", transports[0]->addresses()}, {1, "one", transports[1]->addresses()}};
    const auto near = transports[0]->connect(peers[1], peers[1].addresses[0], "places", patience());
    const auto far = transports[1]->accept(peers[0], "places", patience());
    sending.open(near->area());
    receiving.open(far->area());
  }
  /// What the device has of a first piece that the sender overwrites `seconds` later, when the second one comes.
  float first_piece(std::uint64_t number, double seconds) {
    constexpr std::size_t kFloats = kPieceFloats + 1000;
    DeviceFloats there(*ends[1]->device, kFloats);
    const TransferPtr received = inbox.post(*ends[1]->stream, there.tensor(), 0);
    received->order_before(*ends[1]->stream, patience());
    const HostBuffer host_buffer = sending.buffer_for(sending.outgoing(0, number), kFloats * sizeof(float));
    MessageHeader header;
    header.number = number;
    header.bytes = kFloats * sizeof(float);
    header.shared_buffer = host_buffer.shared_id;
    auto* const host = static_cast<float*>(host_buffer.buffer->data());
    inbox.deliver_shared(header, [&](std::size_t bytes) {
      const bool is_first = bytes <= kPieceBytes;
      if (!is_first) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      std::fill(host, host + kFloats, is_first ? 5.0F : 6.0F);
    });
    there.fetch(*ends[1]->stream);
    ends[1]->stream->synchronize(patience());
    received->wait(patience());
    EXPECT_EQ(there.values().back(), 6.0F);
    return there.values().front();
  }

  std::unique_ptr<Transport> transports[2] = {
      create_transport({.kind = TransportKind::shared_memory, .interfaces = {}, .secret = one_job()}),
      create_transport({.kind = TransportKind::shared_memory, .interfaces = {}, .secret = one_job()})};
  SharedBufferPool sending{*ends[0]->device, 0}, receiving{*ends[1]->device, 1};
  Signal signal;
  Inbox inbox{*ends[1]->device, signal, "rank 1 (here)", "rank 0 (here)", true, &receiving};
};

TEST_F(SlowSender, a_piece_goes_to_the_device_before_the_next_one_has_come) {
  std::uint64_t number = 0;
  for (const double seconds : {0.01, 0.1, 1.0, 10.0})  // however busy the machine is
    if (first_piece(number++, seconds) == 5.0F) return;
  ADD_FAILURE() << "the device waited for the whole message";
}

}  // namespace
}  // namespace tenax::comm
