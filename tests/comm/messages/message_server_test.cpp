// A message server and its clients: what they tell each other, and who is not let in.
#include "comm/messages/message_server.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <future>
#include <memory>
#include <thread>

#include "comm/messages/message_client.hpp"
#include "tests/comm/link_error.hpp"
#include "tests/comm/messages/recording_handler.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/comm/transport/strangers.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;

Deadline soon() { return Deadline::after_s(20); }

class MessageServers : public ::testing::Test {
 protected:
  MessageServers() {
    handler.answer = [this](MessagePeerId peer, const std::string& text) {
      server->send(peer, "re: " + text);
    };
    server.emplace(options, handler);
  }
  std::unique_ptr<MessageClient> connect(const std::string& purpose,
                                         const JobSecret& secret = one_job()) const {
    return std::make_unique<MessageClient>(MessageClientOptions{
        .secret = secret, .addresses = server->addresses(), .purpose = purpose, .deadline = soon()});
  }
  static void expect_echo(MessageClient& client, const std::string& text) {
    client.send(text);
    EXPECT_EQ(client.receive(soon()), "re: " + text);
  }
  int port() const { return port_of(server->addresses().front()); }
  /// A socket that has proven itself, but is no client.
  FileDescriptor proven_stranger(const std::string& purpose) const {
    FileDescriptor socket = connect_to_loopback(port());
    EXPECT_TRUE(
        prove(socket, {one_job(), ConnectionRequest{*Identity::of_address(server->addresses().front()),
                                                    Identity::random(), purpose}}));
    char welcome = 0;
    EXPECT_EQ(recv(socket.get(), &welcome, 1, 0), 1);
    return socket;
  }

  MessageServerOptions options{.secret = one_job(), .listen = {}, .interfaces = {"127.0.0.1"}};
  RecordingHandler handler;
  std::optional<MessageServer> server;
};

TEST_F(MessageServers, answer_many_clients_each_in_order) {
  std::vector<std::thread> threads;
  for (int id = 0; id < 16; ++id)
    threads.emplace_back([&, id] {
      const auto client = connect("client " + std::to_string(id));
      for (int i = 0; i < 200; ++i) client->send(std::to_string(id) + "." + std::to_string(i));
      for (int i = 0; i < 200; ++i)
        ASSERT_EQ(client->receive(soon()), "re: " + std::to_string(id) + "." + std::to_string(i));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(handler.heard().size(), 16U);
  EXPECT_TRUE(happens([&] { return !handler.heard_of("client 7").end.empty(); })) << "it has left";
}

TEST_F(MessageServers, that_stand_still_lose_no_patient_client) {
  constexpr int kTexts = 4000;  // more than the server's host takes in meanwhile
  server.reset();
  std::promise<void> goes_on;
  handler.answer = [&, until = goes_on.get_future().share()](MessagePeerId peer, const std::string& text) {
    if (text == "stand still") until.wait_for(std::chrono::seconds(20));
    if (text == "end") server->send(peer, "all read");
  };
  server.emplace(options, handler);
  const auto connect_as = [&](const std::string& purpose, bool is_patient) {
    return std::make_unique<MessageClient>(MessageClientOptions{.secret = one_job(),
                                                                .addresses = server->addresses(),
                                                                .purpose = purpose,
                                                                .deadline = soon(),
                                                                .silence_s = 1,
                                                                .is_patient = is_patient});
  };
  const auto patient = connect_as("patient", true), other = connect_as("other", false);
  patient->send("stand still");
  for (int i = 0; i < kTexts; ++i) patient->send(std::string(2000, 'x'));
  patient->send("end");
  const std::string error = error_of([&] {
    for (int i = 0; i < kTexts; ++i) other->send(std::string(2000, 'x'));
    other->receive(soon());
  });
  EXPECT_NE(error.find("timed out"), std::string::npos) << error;
  std::this_thread::sleep_for(std::chrono::seconds(1));
  goes_on.set_value();
  EXPECT_EQ(patient->receive(soon()), "all read");
  EXPECT_EQ(handler.heard_of("patient").texts.size(), kTexts + 2U);
}

TEST_F(MessageServers, carry_messages_of_the_most_length_both_ways) {
  const auto client = connect("long");
  expect_echo(*client, std::string(kMostMessageBytes - 4, 'x'));
  expect_echo(*client, "");
}

TEST_F(MessageServers, refuse_who_does_not_know_the_secret_with_one_error) {
  const std::string error = error_of([&] { connect("stranger", JobSecret::draw()); });
  EXPECT_NE(error.find("refused: not of this job"), std::string::npos) << error;
  EXPECT_TRUE(handler.heard().empty());
}

TEST_F(MessageServers, are_not_disturbed_by_garbage_or_silence_on_their_port) {
  const auto client = connect("member");
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 600; ++i) {
    strangers.push_back(connect_to_loopback(port()));
    if (i % 3 == 1)
      say(strangers.back(), std::as_bytes(std::span("GET / HTTP/1.1\r\n\r\nand a good deal more than that")));
    if (i % 3 == 2) say(strangers.back(), std::as_bytes(std::span("tenax 2\n half a word")));
  }
  expect_echo(*client, "still here");
  expect_echo(*connect("another member"), "let in");
  EXPECT_EQ(handler.heard().size(), 2U);
}

TEST_F(MessageServers, close_a_caller_that_says_half_a_word_and_no_more) {
  const FileDescriptor stranger = connect_to_loopback(port());
  say(stranger, std::as_bytes(std::span("tenax 2\n half a word")));
  EXPECT_TRUE(hear_to_the_end(stranger).empty()) << "after 5 s";
  EXPECT_TRUE(handler.heard().empty());
}

TEST_F(MessageServers, close_a_peer_that_sends_no_frame_and_nobody_else) {
  const auto client = connect("member");
  const FileDescriptor stranger = proven_stranger("mad");
  say(stranger, std::as_bytes(std::span("no frame at all")));
  EXPECT_TRUE(hear_to_the_end(stranger).empty());
  EXPECT_NE(handler.heard_of("mad").end.find("no message"), std::string::npos);
  expect_echo(*client, "still here");
}

TEST_F(MessageServers, close_a_peer_that_announces_too_long_a_frame_before_it_comes) {
  const FileDescriptor stranger = proven_stranger("long");
  std::string bytes;
  append_frame(bytes, "first");
  append_frame(bytes, "second");
  bytes[8 + 5 + 7] = 0x7f;  // the length's highest byte
  say(stranger, std::as_bytes(std::span(bytes)));
  EXPECT_TRUE(happens([&] { return !handler.heard_of("long").end.empty(); }));
  EXPECT_EQ(handler.heard_of("long").texts, std::vector<std::string>{"first"}) << "what came whole before it";
  EXPECT_NE(handler.heard_of("long").end.find("too long"), std::string::npos);
}

TEST_F(MessageServers, close_a_peer_that_reads_nothing_and_serve_the_others_meanwhile) {
  const auto client = connect("member");
  const FileDescriptor slow = proven_stranger("slow");
  ASSERT_TRUE(happens([&] { return handler.id_of("slow") != 0; }));
  const MessagePeerId peer = handler.id_of("slow");
  const std::string text(kMostMessageBytes, 'x');
  EXPECT_TRUE(happens([&] {
    server->send(peer, text);
    expect_echo(*client, "still here");
    return !handler.heard_of("slow").end.empty();
  }));
  EXPECT_NE(handler.heard_of("slow").end.find("reads nothing"), std::string::npos)
      << handler.heard_of("slow").end;
}

TEST_F(MessageServers, send_what_a_slow_peer_did_not_take_at_once) {
  const auto client = connect("slow");
  const std::string text(kMostMessageBytes, 'x');
  ASSERT_TRUE(happens([&] { return handler.id_of("slow") != 0; }));
  for (int i = 0; i < 6; ++i) server->send(handler.id_of("slow"), text);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (int i = 0; i < 6; ++i) ASSERT_EQ(client->receive(soon()), text);
  expect_echo(*client, "and on");
}

TEST_F(MessageServers, hear_at_once_of_a_client_that_leaves) {
  auto client = connect("member");
  expect_echo(*client, "hello");
  client.reset();
  EXPECT_TRUE(happens([&] { return handler.heard_of("member").end.find("closed") != std::string::npos; }));
  server->send(handler.id_of("member"), "to nobody");
  expect_echo(*connect("next"), "no harm");
}

TEST_F(MessageServers, that_close_a_peer_give_it_what_was_sent_before_and_hear_no_more_of_it) {
  const auto client = connect("member");
  expect_echo(*client, "hello");
  const MessagePeerId peer = handler.id_of("member");
  const std::string last(std::size_t{1} << 20, 'x');  // more than its socket takes
  for (int i = 0; i < 6; ++i) server->send(peer, last);
  server->close(peer);
  server->send(peer, "too late");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  client->send("unheard");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(client->receive(soon()), last);
  EXPECT_NE(error_of([&] { client->receive(soon()); }).find("closed"), std::string::npos);
  EXPECT_EQ(handler.heard_of("member").texts.size(), 1U);
  EXPECT_EQ(handler.heard_of("member").end, "");
}

TEST_F(MessageServers, can_be_replaced_at_the_same_address_and_clients_come_again) {
  const std::string address = server->addresses().front();
  auto client = connect("member");
  expect_echo(*client, "hello");
  options.listen = plain_address(address).substr(4);
  const double begin_s = kernels::steady_now_s();
  server.reset();
  EXPECT_NE(error_of([&] { client->receive(soon()); }), "no error");
  EXPECT_LT(kernels::steady_now_s() - begin_s, 10);
  server.emplace(options, handler);
  EXPECT_EQ(server->addresses(), std::vector<std::string>{address});
  client = connect("member, again");
  expect_echo(*client, "hello again");
}

TEST_F(MessageServers, are_not_taken_for_one_that_was_there_before) {
  const std::string address = server->addresses().front();
  options.listen = plain_address(address).substr(4);
  options.identity = Identity::random();
  server.reset();
  server.emplace(options, handler);
  const std::string error = error_of([&] {
    MessageClient({.secret = one_job(), .addresses = {address}, .purpose = "member", .deadline = soon()});
  });
  EXPECT_NE(error.find("refused: not of this job"), std::string::npos) << error;
}

TEST_F(MessageServers, tell_the_time_once_for_each_wish) {
  const double begin_s = kernels::steady_now_s();
  server->run_at(Deadline::after_s(3600));
  server->run_at(Deadline::after_s(0.05));
  EXPECT_TRUE(happens([&] { return handler.times() == 1; }));
  EXPECT_GE(kernels::steady_now_s() - begin_s, 0.05);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(handler.times(), 1);
}

TEST_F(MessageServers, hold_a_thousand_clients_and_reach_them_all) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 2200) GTEST_SKIP() << "needs 2200 open files; this host allows " << limit.rlim_cur;
  std::vector<std::unique_ptr<MessageClient>> clients;
  for (int i = 0; i < 1000; ++i) clients.push_back(connect("client " + std::to_string(i)));
  ASSERT_TRUE(happens([&] { return handler.heard().size() == clients.size(); }));
  for (const auto& [peer, heard] : handler.heard()) server->send(peer, heard.purpose);
  for (std::size_t i = 0; i < clients.size(); ++i)
    ASSERT_EQ(clients[i]->receive(soon()), "client " + std::to_string(i));
}

TEST(MessageServer, says_where_it_cannot_listen) {
  RecordingHandler handler;
  for (const char* place : {"nowhere", "0.0.0.0:4000", "192.0.2.1:4000", "127.0.0.1:99999"}) {
    const std::string error =
        error_of([&] { MessageServer({.secret = one_job(), .listen = place, .interfaces = {}}, handler); },
                 kernels::Scope::rank);
    EXPECT_NE(error.find(place), std::string::npos) << error;
  }
}

TEST_F(MessageServers, clients_wait_no_longer_than_they_are_told_and_can_be_woken) {
  const auto client = connect("member");
  EXPECT_EQ(client->receive(Deadline::after_s(0.02)), std::nullopt);
  client->wake();
  EXPECT_EQ(client->receive(soon()), std::nullopt);
  std::thread waker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    client->wake();
  });
  EXPECT_EQ(client->receive(soon()), std::nullopt);
  waker.join();
  expect_echo(*client, "still here");
}

TEST_F(MessageServers, clients_try_their_addresses_in_turn_and_say_why_none_answers) {
  const std::string dead = "tcp:127.0.0.1:1" + Identity::random().suffix();
  MessageClient client({.secret = one_job(),
                        .addresses = {dead, server->addresses().front()},
                        .purpose = "member",
                        .deadline = soon()});
  expect_echo(client, "hello");
  const auto connect_in_vain = [&](const std::string& address) {
    return error_of([&] {
      MessageClient({.secret = one_job(), .addresses = {address}, .purpose = "member", .deadline = soon()});
    });
  };
  EXPECT_NE(connect_in_vain(dead).find("127.0.0.1:1"), std::string::npos);
  EXPECT_NE(connect_in_vain("127.0.0.1:4000").find("not an address"), std::string::npos);
}

TEST(JobSecrets, read_back_from_their_text_and_from_nothing_else) {
  const std::string text = one_job().text();
  EXPECT_EQ(text.size(), 64U);
  EXPECT_EQ(JobSecret::parse(text).text(), text);
  EXPECT_NE(JobSecret::draw().text(), text);
  for (const std::string& wrong : {text.substr(1), text + "0", text.substr(1) + "g", std::string()}) {
    const std::string error = error_of([&] { JobSecret::parse(wrong); }, kernels::Scope::rank);
    EXPECT_NE(error, "no error");
    EXPECT_EQ(error.find(text.substr(1, 8)), std::string::npos) << "the secret is in no message";
  }
}

}  // namespace
}  // namespace tenax::comm
