// Connections through shared memory.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "comm/transport/transports.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/comm/transport/connection_checks.hpp"

namespace tenax::comm {
namespace {

class SharedMemoryTransport : public ::testing::Test {
 protected:
  static std::unique_ptr<Transport> shm(const JobSecret& secret = one_job()) {
    return create_transport({.kind = TransportKind::shared_memory, .interfaces = {}, .secret = secret});
  }
  ConnectedPair pair{shm(), shm()};
};

TEST_F(SharedMemoryTransport, carries_messages_both_ways_at_once) {
  pair.connect();
  expect_equal_bytes_both_ways(pair, 300);
}
TEST_F(SharedMemoryTransport, a_receive_ends_at_its_deadline_and_the_connection_stays) {
  pair.connect();
  expect_receive_ends_at_its_deadline(pair);
}
TEST_F(SharedMemoryTransport, a_send_that_nobody_takes_ends_at_its_deadline) {
  pair.connect();
  expect_send_ends_at_its_deadline(pair);
}
TEST_F(SharedMemoryTransport, shutting_down_wakes_both_ends) {
  pair.connect();
  expect_shutdown_wakes_both_ends(pair);
}
TEST_F(SharedMemoryTransport, what_was_sent_before_the_end_arrives) {
  pair.connect();
  expect_last_words_arrive(pair);
}
TEST_F(SharedMemoryTransport, tells_connections_apart_by_purpose) { expect_connections_are_told_apart(pair); }
TEST_F(SharedMemoryTransport, refuses_a_header_that_no_end_sends) { expect_nonsense_is_refused(pair); }
TEST_F(SharedMemoryTransport, refuses_strangers) { expect_strangers_are_refused(pair); }
TEST_F(SharedMemoryTransport, refuses_another_jobs_secret) {
  expect_another_job_is_refused(pair, *shm(JobSecret::draw()));
}

TEST_F(SharedMemoryTransport, says_that_a_process_has_left) {
  pair.transports[1].reset();
  const std::string message = error_of([&] { pair.connect(); });
  EXPECT_NE(message.find("no such process on this host, or it has left"), std::string::npos) << message;
}

TEST_F(SharedMemoryTransport, leaves_nothing_in_dev_shm) {
  pair.connect();
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    EXPECT_EQ(entry.path().string().find("tenax connection"), std::string::npos);
}

std::string read_line(int descriptor) {
  std::string line;
  for (char c = 0; read(descriptor, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

void write_line(int descriptor, const std::string& line) {
  const std::string text = line + "\n";
  EXPECT_EQ(write(descriptor, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

/// Connects to the process that it was forked from, says something and kills itself.
[[noreturn]] void speak_and_die(int from_parent, int to_parent) {
  try {
    const auto transport =
        create_transport({.kind = TransportKind::shared_memory, .interfaces = {}, .secret = one_job()});
    write_line(to_parent, transport->addresses().front());
    const std::string address = read_line(from_parent);
    const auto connection =
        transport->connect({0, "the parent", {address}}, address, "last words", Deadline::after_s(20));
    send_messages(*connection, 1, 3);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child: %s\n", error.what());
    _exit(1);
  }
  kill(getpid(), SIGKILL);
  _exit(1);
}

TEST(SharedMemoryProcesses, a_peer_that_is_killed_is_noticed_after_its_last_words) {
  int to_child[2], to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  one_job();                   // the child's too
  const pid_t child = fork();  // before any thread is there
  if (child == 0) speak_and_die(to_child[0], to_parent[1]);
  const auto transport =
      create_transport({.kind = TransportKind::shared_memory, .interfaces = {}, .secret = one_job()});
  const Peer peer{1, "the child", {read_line(to_parent[0])}};
  write_line(to_child[1], transport->addresses().front());
  const auto connection = transport->accept(peer, "last words", Deadline::after_s(20));
  expect_messages(*connection, 1, 3);
  const std::string message = error_of([&] { connection->receive(Deadline::after_s(60)); });
  EXPECT_NE(message.find("has left"), std::string::npos) << message;
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace tenax::comm
