// Connections as streams of bytes, for a thread that polls.
#include <unistd.h>

#include "comm/transport/shared_memory.hpp"
#include "comm/transport/transports.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/comm/transport/stream_checks.hpp"

namespace tenax::comm {
namespace {

std::unique_ptr<Transport> transport(TransportKind kind) {
  return create_transport({.kind = kind, .interfaces = {"lo"}, .deadline_s = 20, .secret = one_job()});
}

class PolledStreams : public ::testing::TestWithParam<TransportKind> {
 protected:
  PolledStreams() { pair.connect(); }
  PolledStream& end(std::size_t index) { return *pair.ends[index]->stream(); }

  ConnectedPair pair{transport(GetParam()), transport(GetParam())};
};

TEST_P(PolledStreams, carry_bytes_both_ways_and_wake_who_sleeps) {
  std::mt19937 random(1);
  expect_bytes_both_ways(end(0), end(1), random_bytes(random, 20000001), random_bytes(random, 7000003));
}

TEST_P(PolledStreams, let_a_thread_sleep_until_something_comes) {
  expect_sleep_until_something_comes(end(0), end(1));
}

TEST_P(PolledStreams, can_be_read_to_the_last_byte_once_the_other_end_has_left) {
  expect_last_bytes(pair, false);
}

TEST_P(PolledStreams, can_be_read_to_the_last_byte_once_the_other_end_has_finished) {
  expect_last_bytes(pair, true);
}

INSTANTIATE_TEST_SUITE_P(Transports, PolledStreams,
                         ::testing::Values(TransportKind::tcp, TransportKind::shared_memory),
                         [](const auto& way) {
                           return way.param == TransportKind::tcp ? "tcp" : "shared_memory";
                         });

TEST(SharedMemory, is_seen_by_a_process_that_its_descriptor_is_sent_to) {
  ConnectedPair pair(transport(TransportKind::shared_memory), transport(TransportKind::shared_memory));
  pair.connect();
  const auto own = SharedMemory::create(100000);
  PolledStream& from = *pair.ends[0]->stream();
  ASSERT_TRUE(from.carries_descriptors());
  EXPECT_EQ(pair.ends[1]->stream()->receive_descriptor(), -1);
  from.send_descriptor(own->descriptor());
  FileDescriptor come(pair.ends[1]->stream()->receive_descriptor());
  ASSERT_TRUE(static_cast<bool>(come));
  const auto seen = SharedMemory::map(std::move(come), "here");
  ASSERT_EQ(seen->bytes(), own->bytes());
  static_cast<char*>(own->data())[99999] = 'x';
  EXPECT_EQ(static_cast<const char*>(seen->data())[99999], 'x');
}

TEST(SharedMemory, of_another_make_is_refused) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const FileDescriptor other_end(pipes[1]);
  EXPECT_NE(error_of([&] { SharedMemory::map(FileDescriptor(pipes[0]), "here"); }), "no error");
}

}  // namespace
}  // namespace tenax::comm
