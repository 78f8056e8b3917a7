#include "comm/messages/message_frames.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/comm/link_error.hpp"

namespace tenax::comm {
namespace {

std::string frame_of(std::string_view text) {
  std::string bytes;
  append_frame(bytes, text);
  return bytes;
}

std::vector<std::string> all_of(FrameReader& reader) {
  std::vector<std::string> texts;
  while (auto text = reader.next()) texts.push_back(*text);
  return texts;
}

TEST(MessageFrames, come_out_as_they_went_in_however_the_stream_is_cut) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> sent, got;
    std::string stream;
    for (int i = 0; i < 20; ++i) {
      sent.emplace_back(random() % (i == 7 ? 200000 : 40), static_cast<char>('a' + i));
      append_frame(stream, sent.back());
    }
    FrameReader reader;
    while (!stream.empty()) {
      const std::size_t part =
          std::min<std::size_t>(stream.size(), 1 + random() % (round % 2 == 0 ? 7 : 90000));
      reader.add(std::string_view(stream).substr(0, part));
      stream.erase(0, part);
      for (std::string& text : all_of(reader)) got.push_back(std::move(text));
    }
    ASSERT_EQ(got, sent);
  }
}

TEST(MessageFrames, may_hold_any_bytes_and_none) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  FrameReader reader;
  reader.add(frame_of("") + frame_of(all));
  EXPECT_EQ(all_of(reader), (std::vector<std::string>{"", all}));
}

TEST(MessageFrames, have_a_most_length_that_both_ends_know) {
  const std::string most(kMostMessageBytes, 'x');
  std::string bytes = frame_of(most);
  FrameReader reader;
  reader.add(bytes);
  EXPECT_EQ(reader.next(), most);
  EXPECT_NE(error_of([&] { append_frame(bytes, most + "x"); }, kernels::Scope::job), "no error");
  bytes.resize(8);
  bytes[4] = 1;  // one more than the most
  reader.add(bytes);
  EXPECT_NE(error_of([&] { reader.next(); }).find(std::to_string(kMostMessageBytes + 1)), std::string::npos);
}

TEST(MessageFrames, are_told_from_anything_else) {
  for (int at = 0; at < 4; ++at) {
    std::string bytes = frame_of("hello");
    bytes[static_cast<std::size_t>(at)] ^= 1;
    FrameReader reader;
    reader.add(bytes);
    EXPECT_NE(error_of([&] { reader.next(); }).find("no message"), std::string::npos) << at;
  }
}

}  // namespace
}  // namespace tenax::comm
