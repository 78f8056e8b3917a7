// What a delegated link does when the other end says what no rank says: it gives the connection up and makes another one.
#include <gtest/gtest.h>

#include <cmath>

#include "comm/delegates/channel_observer.hpp"
#include "comm/delegates/delegated_link.hpp"
#include "comm/link.hpp"
#include "comm/transport/transports.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/comm/transport/connection_checks.hpp"

namespace tenax::comm {
namespace {

constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;

/// Rank 1 has a link of one delegate; rank 0 is played by hand.
class Wire : public ::testing::Test {
 protected:
  static std::unique_ptr<Transport> shm() {
    return create_transport({.kind = TransportKind::shared_memory, .interfaces = {}, .secret = one_job()});
  }
  /// What rank 0 sends data over, or gets it.
  std::unique_ptr<Connection> connect(bool to_send) {
    return pair.transports[0]->connect(pair.peers[1], pair.peers[1].addresses[0], to_send ? "p/0.0" : "p/1.0",
                                       soon());
  }
  static Deadline soon() { return Deadline::after_s(60); }
  static MessageHeader data_header() {
    MessageHeader header;
    header.kind = static_cast<std::int32_t>(MessageKind::data);
    header.bytes = header.payload_bytes = 4 * sizeof(float);
    return header;
  }
  /// The other end may hang up before the payload.
  static void send(Connection& connection, const MessageHeader& header) {
    static const std::vector<std::byte> payload(1024);
    error_of([&] { connection.send(header, std::span(payload).first(header.payload_bytes), soon()); });
  }
  /// Acknowledgements may come first.
  static void expect_to_be_given_up(Connection& connection) {
    EXPECT_NE(error_of([&] {
                for (int i = 0; i < 3; ++i)
                  if (const auto header = connection.receive(soon())) {
                    std::vector<std::byte> counts(header->payload_bytes);
                    connection.receive_payload(counts, soon());
                  }
              }),
              "no error");
  }

  ConnectedPair pair{shm(), shm()};
  std::unique_ptr<kernels::Device> device = kernels::create_cpu_device();
  HostStream stream;
  std::unique_ptr<DelegatedLink> link = create_delegated_link("p", pair.peers[1], pair.peers[0],
                                                              *pair.transports[1], *device, {.delegates = 1});
  std::vector<float> values = std::vector<float>(4);
};

TEST_F(Wire, a_message_that_no_rank_sends_costs_a_connection_and_nothing_else) {
  std::vector<MessageHeader> wrong(6, data_header());
  wrong[0].kind = 77;
  wrong[1].tag = -1;
  wrong[2].payload_bytes = 8;
  wrong[3].shared_buffer = 5;
  wrong[4].started_s = std::nan("");
  wrong[5].sequence = 3;
  for (const MessageHeader& header : wrong) {
    const auto connection = connect(true);
    send(*connection, header);
    expect_to_be_given_up(*connection);
  }
  const TransferPtr receive = link->receive(stream, tensor_of(values), 0);
  const auto connection = connect(true);
  const std::vector<float> sent = {1, 2, 3, 4};
  connection->send(data_header(), std::as_bytes(std::span(sent)), soon());
  receive->wait(soon());
  EXPECT_EQ(values, sent);
}

TEST_F(Wire, an_acknowledgement_that_cannot_be_costs_a_connection_and_the_message_comes_again) {
  values = {1, 2, 3, 4};
  const TransferPtr transfer = link->send(stream, tensor_of(values), 0);
  const auto take = [&](Connection& connection) {
    const auto header = connection.receive(soon());
    ASSERT_TRUE(header.has_value());
    std::vector<float> come(4);
    connection.receive_payload(std::as_writable_bytes(std::span(come)), soon());
    EXPECT_EQ(come, values);
  };
  const auto acknowledge = [](Connection& connection, std::int32_t kind,
                              const std::vector<std::uint64_t>& counts, std::size_t bytes) {
    MessageHeader header;
    header.kind = kind;
    header.bytes = header.payload_bytes = bytes;
    error_of([&] { connection.send(header, std::as_bytes(std::span(counts)).first(bytes), soon()); });
  };
  const auto right = static_cast<std::int32_t>(MessageKind::acknowledgement);
  const std::vector<std::uint64_t> many(5000, 1);
  const std::function<void(Connection&)> wrong[] = {
      [&](Connection& connection) { acknowledge(connection, right, {2}, 8); },  // one was sent
      [&](Connection& connection) { acknowledge(connection, right, {kHuge}, 8); },
      [&](Connection& connection) { acknowledge(connection, right, {1}, 7); },
      [&](Connection& connection) { acknowledge(connection, right, many, 5000 * 8); },
      [&](Connection& connection) { acknowledge(connection, 1, {1}, 8); },
  };
  for (const auto& say : wrong) {
    const auto connection = connect(false);
    take(*connection);
    say(*connection);
    expect_to_be_given_up(*connection);
    EXPECT_FALSE(transfer->done());
  }
  const auto connection = connect(false);
  take(*connection);
  acknowledge(*connection, right, {1}, 8);
  transfer->wait(soon());
}

}  // namespace
}  // namespace tenax::comm
