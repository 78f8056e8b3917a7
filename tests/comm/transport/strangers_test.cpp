// Who is no rank of the job at the listeners of one that is.
#include "tests/comm/transport/strangers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/poll.hpp"
#include "comm/transport/handshake.hpp"
#include "comm/transport/pending_connections.hpp"
#include "comm/transport/transports.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/comm/transport/connection_checks.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kMostExtra = 64;
constexpr uid_t kNobody = 65534;

std::unique_ptr<Transport> create(TransportKind kind) {
  return create_transport({.kind = kind, .interfaces = {"127.0.0.1"}, .deadline_s = 20, .secret = one_job()});
}

void expect_to_work(ConnectedPair& pair, const std::string& purpose = "work") {
  pair.connect(0, purpose);
  send_messages(*pair.ends[0], 1, 3);
  expect_messages(*pair.ends[1], 1, 3);
}

/// Waits for what the acceptor's thread does.
bool happens(const std::function<bool()>& claim) {
  const Deadline deadline = Deadline::after_s(20);
  while (!claim() && !deadline.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return claim();
}

TEST(Strangers, who_connect_over_tcp_and_stay_silent_cost_few_descriptors_and_keep_no_peer_out) {
  ConnectedPair pair(create(TransportKind::tcp), create(TransportKind::tcp));
  const std::size_t before = open_descriptors();
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 400; ++i) {
    strangers.push_back(connect_to_loopback(port_of(pair.peers[1].addresses[0])));
    ASSERT_TRUE(strangers.back());
    if (i % 2 == 1) say(strangers.back(), std::as_bytes(std::span("tenax 2\n half a word")));
  }
  expect_to_work(pair);  // behind all of them
  pair.ends[0].reset();
  pair.ends[1].reset();
  EXPECT_LE(open_descriptors(), before + strangers.size() + kMostExtra);
}

TEST(Strangers, who_say_what_they_have_overheard_are_refused) {
  ConnectedPair pair(create(TransportKind::tcp), create(TransportKind::tcp));
  const int port = port_of(pair.peers[1].addresses[0]);
  // Somebody on the way: passes on what both ends say, and keeps it.
  FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here = loopback_address(0);
  socklen_t bytes = sizeof here;
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&here), bytes), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&here), &bytes), 0);
  std::vector<std::byte> overheard;
  std::thread eavesdropper([&] {
    const FileDescriptor caller(accept(listener.get(), nullptr, nullptr)), called = connect_to_loopback(port);
    const auto pass = [](const FileDescriptor& from, const FileDescriptor& to, std::size_t count) {
      std::vector<std::byte> part(count);
      EXPECT_EQ(recv(from.get(), part.data(), count, MSG_WAITALL), static_cast<ssize_t>(count));
      say(to, part);
      return part;
    };
    for (const std::size_t count : {40U, 256U}) {
      const auto part = pass(caller, called, count);
      overheard.insert(overheard.end(), part.begin(), part.end());
      pass(called, caller, count == 40 ? 40 : 33);
    }
  });
  const std::string address = pair.peers[1].addresses[0];
  const std::string through =
      "tcp:127.0.0.1:" + std::to_string(ntohs(here.sin_port)) + address.substr(address.find('#'));
  const auto open = pair.transports[0]->connect(pair.peers[1], through, "work", Deadline::after_s(20));
  eavesdropper.join();
  pair.transports[1]->accept(pair.peers[0], "work", Deadline::after_s(20));  // ends with the eavesdropper
  expect_to_work(pair);
  const auto waiting = pair.transports[0]->connect(pair.peers[1], address, "work", Deadline::after_s(20));
  send_messages(*waiting, 5, 2);
  const FileDescriptor replay = connect_to_loopback(port);
  say(replay, overheard);
  const auto answer = hear_to_the_end(replay);
  ASSERT_EQ(answer.size(), 72U) << "a nonce, and a refusal";
  EXPECT_TRUE(
      std::all_of(answer.begin() + 40, answer.end(), [](std::byte byte) { return byte == std::byte{0}; }));
  const auto accepted = pair.transports[1]->accept(pair.peers[0], "work", Deadline::after_s(20));
  expect_messages(*accepted, 5, 2);
}

TEST(Strangers, who_send_descriptors_unasked_leave_none_behind) {
  ConnectedPair pair(create(TransportKind::shared_memory), create(TransportKind::shared_memory));
  const FileDescriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const FileDescriptor stranger = connect_to_name(name_of(pair.peers[1].addresses[0]));
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 39; ++i) say_with_descriptors(stranger, {null.get(), null.get()});
  expect_to_work(pair);
  pair.ends[0].reset();
  pair.ends[1].reset();
  EXPECT_TRUE(happens([&] { return open_descriptors() <= before + 1; })) << "the stranger's own connection";
}

TEST(Strangers, even_a_rank_brings_one_descriptor_and_no_more) {
  ConnectedPair pair(create(TransportKind::shared_memory), create(TransportKind::shared_memory));
  const std::string address = pair.peers[1].addresses[0];
  const FileDescriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::size_t before = open_descriptors();
  const FileDescriptor socket = connect_to_name(name_of(address));
  ASSERT_TRUE(prove(
      socket, {one_job(), ConnectionRequest{*Identity::of_address(address), Identity::random(), "two"}}));
  say_with_descriptors(socket, {null.get(), null.get()});
  EXPECT_TRUE(hear_to_the_end(socket).empty()) << "no welcome";
  EXPECT_TRUE(happens([&] { return open_descriptors() <= before + 1; }));
}

TEST(Strangers, learn_nothing_from_the_name_of_a_socket) {
  const auto transport = create(TransportKind::shared_memory);
  const std::string address = transport->addresses()[0], name = name_of(address);
  EXPECT_EQ(name.size(), 32U);
  EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(name.find(address.substr(address.find('#') + 1)), std::string::npos) << "the identity";
  EXPECT_NE(name_of(create(TransportKind::shared_memory)->addresses()[0]), name);
}

TEST(Strangers, a_peer_makes_connections_only_as_they_are_accepted) {
  for (const TransportKind kind : {TransportKind::tcp, TransportKind::shared_memory}) {
    ConnectedPair pair(create(kind), create(kind));
    const std::size_t before = open_descriptors();
    std::vector<std::unique_ptr<Connection>> made;
    const auto make = [&](double patience_s) {
      const std::string purpose = std::to_string(made.size());
      made.push_back(pair.transports[0]->connect(pair.peers[1], pair.peers[1].addresses[0], purpose,
                                                 Deadline::after_s(patience_s)));
    };
    while (made.size() < PendingConnections::kMostOfPeer) make(20);
    EXPECT_LE(open_descriptors(), before + 4 * PendingConnections::kMostOfPeer) << "both ends are here";
    EXPECT_NE(error_of([&] { make(0.2); }), "no error");
    pair.transports[1]->accept(pair.peers[0], "3", Deadline::after_s(20));
    make(20);
    EXPECT_NO_THROW(pair.transports[1]->accept(pair.peers[0], std::to_string(PendingConnections::kMostOfPeer),
                                               Deadline::after_s(20)));
  }
}

// As replicas that fetch their state do, of a holder that is in the middle of a step.
TEST(Strangers, a_peer_with_many_connections_to_be_accepted_keeps_no_other_peer_out) {
  for (const TransportKind kind : {TransportKind::tcp, TransportKind::shared_memory}) {
    ConnectedPair pair(create(kind), create(kind));
    const auto greedy = create(kind);
    std::vector<std::unique_ptr<Connection>> made;
    while (made.size() < PendingConnections::kMostOfPeer)
      made.push_back(greedy->connect(pair.peers[1], pair.peers[1].addresses[0], std::to_string(made.size()),
                                     Deadline::after_s(20)));
    expect_to_work(pair);
  }
}

TEST(Strangers, peers_share_what_a_process_of_few_descriptors_can_hold) {
  PendingConnections pending(2);
  ConnectedPair pair(create(TransportKind::tcp), create(TransportKind::tcp));
  std::vector<std::unique_ptr<Connection>> made;
  const Identity first = Identity::random(), second = Identity::random();
  for (const char* const purpose : {"a", "b"}) {
    pair.connect(0, purpose);
    ASSERT_TRUE(pending.has_room(first, purpose));
    pending.add(first, purpose, std::move(pair.ends[1]));
    made.push_back(std::move(pair.ends[0]));
  }
  EXPECT_FALSE(pending.has_room(second, "a"));
  EXPECT_TRUE(pending.has_room(first, "a")) << "in place of the one before";
  made.pop_back();  // closed
  EXPECT_TRUE(happens([&] { return pending.has_room(second, "a"); }));
}

TEST(Strangers, a_process_without_descriptors_takes_peers_in_once_it_has_some) {
  ConnectedPair pair(create(TransportKind::tcp), create(TransportKind::tcp));
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 8; ++i) strangers.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{static_cast<rlim_t>(strangers.back().get()) + 1, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const sockaddr_in there = loopback_address(port_of(pair.peers[1].addresses[0]));
  for (const FileDescriptor& stranger : strangers)
    EXPECT_EQ(connect(stranger.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  expect_to_work(pair);
}

/// Runs `work` in a process of another user; its result is the process's status. Only system calls: this process has threads.
template <class Work>
int as_nobody(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    const bool is_nobody = syscall(SYS_setresuid, kNobody, kNobody, kNobody) == 0;
    _exit(is_nobody ? work() : 99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

TEST(OtherUsers, are_closed_at_once_and_told_nothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user as well";
  ConnectedPair pair(create(TransportKind::shared_memory), create(TransportKind::shared_memory));
  const std::string name = name_of(pair.peers[1].addresses[0]);
  const Handshake handshake(one_job(), ConnectionRequest{});
  const Handshake::Message hello = handshake.start();
  const int heard = as_nobody([&] {
    const FileDescriptor socket = connect_to_name(name);
    if (!socket) return 97;
    static_cast<void>(!send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL));
    char byte = 0;
    return recv(socket.get(), &byte, 1, 0) == 1 ? 1 : 0;
  });
  EXPECT_EQ(heard, 0);
  expect_to_work(pair);
}

TEST(OtherUsers, are_told_nothing_by_who_finds_them_in_a_peers_place) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user as well";
  ConnectedPair pair(create(TransportKind::shared_memory), create(TransportKind::shared_memory));
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const std::string name = "tenax test " + std::to_string(getpid());
  const std::string address = "shm:" + name + "#" + std::string(16, '1');
  std::string message;
  std::thread caller([&] {
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    message =
        error_of([&] { pair.transports[0]->connect(pair.peers[1], address, "work", Deadline::after_s(20)); });
  });
  const int heard = as_nobody([&] {
    const FileDescriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un here;
    const socklen_t bytes = unix_address(name, here);
    if (bind(listener.get(), reinterpret_cast<sockaddr*>(&here), bytes) != 0 ||
        listen(listener.get(), 1) != 0)
      return 97;
    static_cast<void>(!write(ready[1], "r", 1));
    const FileDescriptor caller_end(accept(listener.get(), nullptr, nullptr));
    char byte = 0;
    return recv(caller_end.get(), &byte, 1, 0) == 1 ? 1 : 0;
  });
  EXPECT_EQ(write(ready[1], "r", 1), 1);  // also if it never listened
  caller.join();
  EXPECT_EQ(heard, 0);
  EXPECT_NE(message.find("another user's process"), std::string::npos) << message;
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace tenax::comm
