// What every transport promises, checked between two transports of this process.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/comm/link_error.hpp"
#include "tests/comm/transport/connected_pair.hpp"

namespace tenax::comm {

using kernels::Deadline;

inline std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Sizes around nothing, a ring's capacity and a socket's buffer.
inline std::vector<std::byte> message_bytes(std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::size_t most = seed % 50 == 0 ? 3000000 : seed % 7 == 0 ? 0 : 5000;
  return random_bytes(random, most == 0 ? 0 : random() % most);
}

inline void send_messages(Connection& connection, std::uint32_t first_seed, int count) {
  for (int i = 0; i < count; ++i) {
    const std::vector<std::byte> payload = message_bytes(first_seed + static_cast<std::uint32_t>(i));
    MessageHeader header;
    header.kind = 7;
    header.tag = i;
    header.number = static_cast<std::uint64_t>(i);
    header.bytes = 5;
    header.payload_bytes = payload.size();
    header.started_s = 0.5 * i;
    connection.send(header, payload, Deadline::after_s(60));
  }
}

inline void expect_messages(Connection& connection, std::uint32_t first_seed, int count) {
  for (int i = 0; i < count; ++i) {
    const auto header = connection.receive(Deadline::after_s(60));
    ASSERT_TRUE(header.has_value());
    ASSERT_EQ(header->number, static_cast<std::uint64_t>(i));
    ASSERT_EQ(header->tag, i);
    ASSERT_EQ(header->bytes, 5U);
    ASSERT_EQ(header->started_s, 0.5 * i);
    std::vector<std::byte> payload(header->payload_bytes);
    connection.receive_payload(payload, Deadline::after_s(60));
    ASSERT_EQ(payload, message_bytes(first_seed + static_cast<std::uint32_t>(i)));
  }
}

inline void expect_equal_bytes_both_ways(ConnectedPair& pair, int messages) {
  std::vector<std::thread> threads;
  for (const std::size_t end : {0U, 1U}) {
    const auto mine = static_cast<std::uint32_t>(1000 * end),
               theirs = static_cast<std::uint32_t>(1000 * (1 - end));
    threads.emplace_back([&pair, end, mine, messages] { send_messages(*pair.ends[end], mine, messages); });
    threads.emplace_back(
        [&pair, end, theirs, messages] { expect_messages(*pair.ends[end], theirs, messages); });
  }
  for (std::thread& thread : threads) thread.join();
}

/// The connection stays usable after a receive that found nothing.
inline void expect_receive_ends_at_its_deadline(ConnectedPair& pair) {
  EXPECT_FALSE(pair.ends[1]->receive(Deadline::after_s(0.02)).has_value());
  send_messages(*pair.ends[0], 1, 3);
  expect_messages(*pair.ends[1], 1, 3);
}

inline void expect_send_ends_at_its_deadline(ConnectedPair& pair) {
  const std::vector<std::byte> payload(std::size_t{32} << 20);
  MessageHeader header;
  header.payload_bytes = payload.size();
  const std::string message = error_of([&] { pair.ends[0]->send(header, payload, Deadline::after_s(0.2)); });
  EXPECT_NE(message.find("took nothing more before the deadline"), std::string::npos) << message;
}

/// Shutting down one end wakes whoever waits at either.
inline void expect_shutdown_wakes_both_ends(ConnectedPair& pair) {
  std::vector<std::string> messages(2);
  std::vector<std::thread> threads;
  for (const std::size_t end : {0U, 1U})
    threads.emplace_back([&pair, &messages, end] {
      messages[end] = error_of([&] { pair.ends[end]->receive(Deadline::after_s(60)); });
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  pair.ends[0]->shut_down();
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(messages[0].find("shut down"), std::string::npos) << messages[0];
  EXPECT_NE(messages[1], "no error");
  EXPECT_NE(error_of([&] { send_messages(*pair.ends[0], 1, 1); }), "no error");
  EXPECT_NE(error_of([&] { send_messages(*pair.ends[1], 1, 100); }), "no error");
}

/// What was sent before the end was closed can still be read.
inline void expect_last_words_arrive(ConnectedPair& pair) {
  send_messages(*pair.ends[0], 1, 5);
  pair.ends[0].reset();
  expect_messages(*pair.ends[1], 1, 5);
  EXPECT_NE(error_of([&] { pair.ends[1]->receive(Deadline::after_s(60)); }), "no error");
}

/// By purpose, whatever the order; the newest where one was made again.
inline void expect_connections_are_told_apart(ConnectedPair& pair) {
  const Deadline deadline = Deadline::after_s(20);
  std::vector<std::unique_ptr<Connection>> made;
  int number = 0;
  for (const char* purpose : {"a", "b", "a"}) {
    made.push_back(pair.transports[0]->connect(pair.peers[1], pair.peers[1].addresses[0], purpose, deadline));
    MessageHeader header;
    header.tag = number++;
    made.back()->send(header, {}, deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the acceptor takes them in order
  }
  const auto b = pair.transports[1]->accept(pair.peers[0], "b", deadline);
  const auto a = pair.transports[1]->accept(pair.peers[0], "a", deadline);
  EXPECT_EQ(a->receive(deadline)->tag, 2);
  EXPECT_EQ(b->receive(deadline)->tag, 1);
  EXPECT_EQ(a->address(), pair.peers[1].addresses[0]);
  EXPECT_EQ(made[0]->address(), pair.peers[1].addresses[0]);
  const std::string message =
      error_of([&] { pair.transports[1]->accept(pair.peers[0], "c", Deadline::after_s(0.05)); });
  EXPECT_NE(message.find("accepting rank 0 (here) for c: this rank waited"), std::string::npos) << message;
}

inline void expect_nonsense_is_refused(ConnectedPair& pair) {
  pair.connect();
  MessageHeader header;
  header.late_s = -1;
  pair.ends[0]->send(header, {}, Deadline::after_s(20));
  const std::string message = error_of([&] { pair.ends[1]->receive(Deadline::after_s(20)); });
  EXPECT_NE(message.find("is no message"), std::string::npos) << message;
}

/// An address that now leads to another process.
inline void expect_strangers_are_refused(ConnectedPair& pair) {
  std::string address = pair.peers[1].addresses[0];
  address.back() = address.back() == '0' ? '1' : '0';
  const std::string message =
      error_of([&] { pair.transports[0]->connect(pair.peers[1], address, "test", Deadline::after_s(20)); });
  EXPECT_NE(message.find("connecting to rank 1 (here) for test"), std::string::npos) << message;
  EXPECT_NE(message.find(": refused: not of this job"), std::string::npos) << message;
  pair.connect();  // nobody else is disturbed
  send_messages(*pair.ends[0], 1, 1);
  expect_messages(*pair.ends[1], 1, 1);
}

/// `other` is of a job that has another secret. Which end calls makes no difference.
inline void expect_another_job_is_refused(ConnectedPair& pair, Transport& other) {
  const Peer of_other{0, "rank 0 (there)", other.addresses()};
  const auto refusal = [](Transport& caller, const Peer& called) {
    return error_of([&] { caller.connect(called, called.addresses[0], "test", Deadline::after_s(20)); });
  };
  for (const std::string& message : {refusal(other, pair.peers[1]), refusal(*pair.transports[1], of_other)})
    EXPECT_NE(message.find(": refused: not of this job"), std::string::npos) << message;
  pair.connect();
  send_messages(*pair.ends[0], 1, 1);
  expect_messages(*pair.ends[1], 1, 1);
}

}  // namespace tenax::comm
