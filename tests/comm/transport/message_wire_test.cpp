// Headers as bytes.
#include "comm/transport/message_wire.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenax::comm {
namespace {

MessageHeader some_header() {
  MessageHeader header;
  header.kind = -2;
  header.tag = 0x0102;
  header.number = 3;
  header.sequence = 4;
  header.bytes = 5;
  header.payload_bytes = 6;
  header.started_s = 1;
  header.shared_buffer = 7;
  header.late_s = 2;
  return header;
}

TEST(MessageWire, a_header_has_the_same_bytes_everywhere) {
  HeaderBytes expected{};
  const auto put = [&](std::size_t place, std::initializer_list<int> bytes) {
    for (const int byte : bytes) expected[place++] = static_cast<std::byte>(byte);
  };
  put(0, {0xfe, 0xff, 0xff, 0xff, 2, 1});
  put(8, {3});
  put(16, {4});
  put(24, {5});
  put(32, {6});
  put(40, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f});
  put(48, {7});
  put(56, {0, 0, 0, 0, 0, 0, 0, 0x40});
  EXPECT_EQ(encode(some_header()), expected);
  const auto back = decode(expected);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, -2);
  EXPECT_EQ(encode(*back), expected);
}

TEST(MessageWire, times_that_are_none_are_refused) {
  for (const double time : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    MessageHeader header = some_header();
    header.started_s = time;
    EXPECT_FALSE(decode(encode(header)));
    header = some_header();
    header.late_s = time;
    EXPECT_FALSE(decode(encode(header)));
  }
  MessageHeader early = some_header();
  early.late_s = -1;
  EXPECT_FALSE(decode(encode(early)));
}

TEST(MessageWire, a_payload_larger_than_any_memory_is_refused) {
  MessageHeader header = some_header();
  header.payload_bytes = std::uint64_t{1} << 47;
  EXPECT_TRUE(decode(encode(header)));
  ++header.payload_bytes;
  EXPECT_FALSE(decode(encode(header)));
}

}  // namespace
}  // namespace tenax::comm
