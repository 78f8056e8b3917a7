// What every connection that is a stream of bytes promises.
#pragma once

#include <poll.h>

#include <algorithm>
#include <array>

#include "comm/polled_stream.hpp"
#include "tests/comm/transport/connection_checks.hpp"

namespace tenax::comm {

/// Sleeps until there may be something to do; false if nothing came in time.
inline bool sleeps(PolledStream& stream, bool wants_room, int limit_ms) {
  std::vector<pollfd> polled;
  return !stream.prepare_to_sleep(wants_room, polled) || poll(polled.data(), polled.size(), limit_ms) > 0;
}

inline void write_all(PolledStream& stream, std::span<const std::byte> bytes) {
  const std::size_t half = bytes.size() / 2;
  for (std::size_t written = 0; written < bytes.size();) {
    const std::size_t head = std::min(written, half);
    const std::size_t count =
        stream.write_some(bytes.subspan(head, half - head), bytes.subspan(half + written - head));
    ASSERT_TRUE(count > 0 || sleeps(stream, true, 20000));
    written += count;
  }
}

/// By turns as bytes to be read, and where they lie.
inline std::vector<std::byte> read_all(PolledStream& stream, std::size_t bytes) {
  std::vector<std::byte> come(bytes);
  bool where_they_lie = true;
  for (std::size_t taken = 0; taken < bytes; where_they_lie = !where_they_lie) {
    const auto rest = std::span(come).subspan(taken);
    std::size_t count = 0;
    if (const auto lying = where_they_lie ? stream.peek() : std::span<const std::byte>(); !lying.empty()) {
      count = std::min(rest.size(), lying.size());
      std::copy_n(lying.begin(), count, rest.begin());
      stream.take(count);
    } else {
      count = stream.read_some(rest);
    }
    if (count == 0 && !sleeps(stream, false, 20000)) break;
    taken += count;
  }
  return come;
}

/// The sender's memory may be registered.
inline void expect_bytes_both_ways(PolledStream& zero, PolledStream& one, std::span<const std::byte> there,
                                   std::span<const std::byte> back) {
  std::thread other([&] {
    EXPECT_TRUE(std::ranges::equal(read_all(one, there.size()), there));
    write_all(one, back);
  });
  write_all(zero, there);
  EXPECT_TRUE(std::ranges::equal(read_all(zero, back.size()), back));
  other.join();
}

inline void expect_sleep_until_something_comes(PolledStream& zero, PolledStream& one) {
  EXPECT_FALSE(sleeps(one, false, 20));
  const std::vector<std::byte> byte(1, std::byte{5});
  for (int i = 0; i < 100; ++i) {
    std::thread other([&] { write_all(zero, byte); });
    EXPECT_EQ(read_all(one, 1), byte);
    other.join();
  }
  EXPECT_FALSE(sleeps(one, false, 20));
}

inline void expect_error_of_reading(PolledStream& stream) {
  EXPECT_TRUE(sleeps(stream, false, 20000));
  EXPECT_NE(error_of([&] {
              std::array<std::byte, 1> none;
              for (int i = 0; i < 100; ++i) {
                sleeps(stream, false, 20);
                stream.read_some(none);
              }
            }),
            "no error");
}

/// End 0 says its last words and leaves; `finish`: it waits for them to arrive.
inline void expect_last_bytes(ConnectedPair& pair, bool finish) {
  const std::vector<std::byte> last(1000, std::byte{7});
  write_all(*pair.ends[0]->stream(), last);
  if (finish) {
    pair.ends[0]->stream()->finish();
    pair.ends[0]->shut_down();
  } else {
    pair.ends[0].reset();
  }
  EXPECT_EQ(read_all(*pair.ends[1]->stream(), last.size()), last);
  expect_error_of_reading(*pair.ends[1]->stream());
}

}  // namespace tenax::comm
