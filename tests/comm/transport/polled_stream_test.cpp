// Connections as streams of bytes, for a thread that polls.
#include "comm/polled_stream.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>

#include "comm/transport/shared_memory.hpp"
#include "comm/transport/transports.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/comm/transport/connection_checks.hpp"

namespace tenax::comm {
namespace {

std::unique_ptr<Transport> transport(TransportKind kind) {
  return create_transport({.kind = kind, .interfaces = {"lo"}, .deadline_s = 20, .secret = one_job()});
}

class PolledStreams : public ::testing::TestWithParam<TransportKind> {
 protected:
  PolledStreams() { pair.connect(); }
  PolledStream& end(std::size_t index) { return *pair.ends[index]->stream(); }

  /// Sleeps until there may be something to do; false if nothing came in time.
  static bool sleep(PolledStream& stream, bool wants_room, int limit_ms) {
    const std::optional<short> events = stream.events_to_poll(wants_room);
    if (!events) return true;
    pollfd entry{stream.socket(), *events, 0};
    return poll(&entry, 1, limit_ms) > 0;
  }
  static void write_all(PolledStream& stream, std::span<const std::byte> bytes) {
    const std::size_t half = bytes.size() / 2;
    for (std::size_t written = 0; written < bytes.size();) {
      const std::size_t head = std::min(written, half);
      const std::size_t count =
          stream.write_some(bytes.subspan(head, half - head), bytes.subspan(half + written - head));
      ASSERT_TRUE(count > 0 || sleep(stream, true, 20000));
      written += count;
    }
  }
  static std::vector<std::byte> read_all(PolledStream& stream, std::size_t bytes) {
    std::vector<std::byte> come(bytes);
    for (std::size_t taken = 0; taken < bytes;) {
      const std::size_t count = stream.read_some(std::span(come).subspan(taken));
      if (count == 0 && !sleep(stream, false, 20000)) break;
      taken += count;
    }
    return come;
  }

  ConnectedPair pair{transport(GetParam()), transport(GetParam())};
};

TEST_P(PolledStreams, carry_bytes_both_ways_and_wake_who_sleeps) {
  std::mt19937 random(1);
  const std::vector<std::byte> there = random_bytes(random, 20000001), back = random_bytes(random, 7000003);
  std::thread other([&] {
    EXPECT_EQ(read_all(end(1), there.size()), there);
    write_all(end(1), back);
  });
  write_all(end(0), there);
  EXPECT_EQ(read_all(end(0), back.size()), back);
  other.join();
}

TEST_P(PolledStreams, let_a_thread_sleep_until_something_comes) {
  EXPECT_FALSE(sleep(end(1), false, 20));
  const std::vector<std::byte> one(1, std::byte{5});
  for (int i = 0; i < 100; ++i) {
    std::thread other([&] { write_all(end(0), one); });
    EXPECT_EQ(read_all(end(1), 1), one);
    other.join();
  }
  EXPECT_FALSE(sleep(end(1), false, 20));
}

TEST_P(PolledStreams, can_be_read_to_the_last_byte_once_the_other_end_has_left) {
  const std::vector<std::byte> last(1000, std::byte{7});
  write_all(end(0), last);
  pair.ends[0].reset();
  EXPECT_EQ(read_all(end(1), last.size()), last);
  EXPECT_TRUE(sleep(end(1), false, 20000));
  EXPECT_NE(error_of([&] {
              std::array<std::byte, 1> none;
              for (int i = 0; i < 100; ++i) {
                sleep(end(1), false, 20);
                end(1).read_some(none);
              }
            }),
            "no error");
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
