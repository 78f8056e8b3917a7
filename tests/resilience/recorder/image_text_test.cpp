#include "resilience/recorder/image_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenax::resilience {
namespace {

RecorderImage some_image() {
  return {
      .replica = 1,
      .rank = 3,
      .host = "node \"7\"",
      .pid = 4711,
      .step = 12,
      .steps = 5,
      .moved_ns = 1'700'000'000'000'000'001,
      .read_ns = 1'700'000'000'000'000'777,
      .phase = Recorder::Phase::vote,
      .state = ProcessState::stopped,
      .channels = {{"data@0", ChannelKind::group, 1, 2, 8, 7}},
      .operations = {{.kind = OperationKind::pass, .label = "F3", .step = 12, .started_ns = 5, .ticket = 40},
                     {.kind = OperationKind::all_reduce,
                      .label = {},
                      .channel = 0,
                      .number = 7,
                      .bytes = 64,
                      .step = 12,
                      .started_ns = 6,
                      .finished_ns = 9,
                      .ticket = 41,
                      .looks = 2,
                      .stands = true}}};
}

TEST(ImageText, comes_back_as_it_went) {
  const RecorderImage image = some_image();
  const std::string text = image_text(image);
  const auto read = parse_image(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(image_text(*read), text);
  EXPECT_EQ(read->host, image.host);
  EXPECT_EQ(read->moved_ns, image.moved_ns);
  EXPECT_EQ(read->phase, Recorder::Phase::vote);
  EXPECT_EQ(read->state, ProcessState::stopped);
  ASSERT_EQ(read->operations.size(), 2U);
  EXPECT_EQ(read->operations[0].label, "F3");
  EXPECT_EQ(read->operations[0].channel, -1);
  EXPECT_EQ(read->operations[1].kind, OperationKind::all_reduce);
  EXPECT_TRUE(read->operations[1].stands);
  EXPECT_EQ(read->channels.at(0).finished, 7);
}

TEST(ImageText, of_anything_else_there_is_no_image) {
  const std::string text = image_text(some_image());
  for (const std::string& line :
       {std::string("Warning: Permanently added 'node7' to the list of known hosts."), std::string("{}"),
        std::string("[1]"), std::string(), text.substr(0, text.size() / 2), std::string("{\"recorder\": 1}")})
    EXPECT_FALSE(parse_image(line)) << line;
}

TEST(ImageText, lines_of_several_hosts_may_come_mixed) {
  RecorderImage first = some_image(), second = some_image();
  second.rank = 4;
  for (RecorderImage* image : {&first, &second})
    while (image->operations.size() < 200) image->operations.push_back(image->operations.back());
  const auto lines = image_lines(first, "node7.1"), others = image_lines(second, "node8.1");
  ASSERT_GT(lines.size(), 3U);
  ImageReader reader;
  std::vector<std::string> read;
  const auto add = [&](const std::string& line) {
    EXPECT_LT(line.size(), 1023U);
    if (const auto image = reader.add(line)) read.push_back(image_text(*image));
  };
  for (std::size_t i = 0; i < std::max(lines.size(), others.size()); ++i) {
    if (i < lines.size()) add(lines[i]);
    add("srun: error: something else");
    if (i < others.size()) add(others[i]);
  }
  EXPECT_EQ(read, (std::vector<std::string>{image_text(first), image_text(second)}));
}

TEST(ImageText, of_an_image_that_lacks_a_line_nothing_comes) {
  RecorderImage image = some_image();
  while (image.operations.size() < 200) image.operations.push_back(image.operations.back());
  const auto lines = image_lines(image, "node7.1");
  ImageReader reader;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 1) continue;
    EXPECT_FALSE(reader.add(lines[i]));
  }
}

TEST(ImageText, kinds_and_channels_that_cannot_be_are_refused) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = image_text(some_image());
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_FALSE(parse_image(with("\"phase\":3", "\"phase\":-1")));
  EXPECT_FALSE(parse_image(with("\"phase\":3", "\"phase\":99")));
  EXPECT_FALSE(parse_image(with("\"state\":1", "\"state\":9")));
  EXPECT_FALSE(parse_image(with("[\"data@0\",0,", "[\"data@0\",7,")));
  EXPECT_FALSE(parse_image(with("[1,\"\",0,", "[1,\"\",1,")));   // there is one channel
  EXPECT_FALSE(parse_image(with("[1,\"\",0,", "[99,\"\",0,")));  // nor is there such an operation
}

}  // namespace
}  // namespace tenax::resilience
