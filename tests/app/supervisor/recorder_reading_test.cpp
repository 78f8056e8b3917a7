#include "app/supervisor/recorder_reading.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tenax::app {
namespace {

using resilience::RecorderImage;

/// A rank that has begun a sum with another one, and looks at it from its read number `first_look` on.
class ReadRank {
 public:
  explicit ReadRank(int first_look) : first_look_(first_look) {}

  std::vector<RecorderImage> operator()() {
    resilience::RecordedChannel channel;
    channel.name = "tensor@0";
    channel.size = 2;
    channel.started = 1;
    resilience::RecordedOperation sum;
    sum.kind = resilience::OperationKind::all_reduce;
    sum.channel = 0;
    sum.looks = reads_ < first_look_ ? 0 : 1;
    RecorderImage image;
    image.channels = {channel};
    image.operations = {sum};
    ++reads_;
    return {image};
  }
  int reads() const { return reads_; }

 private:
  const int first_look_;
  int reads_ = 0;
};

int reads_of(int first_look) {
  ReadRank rank(first_look);
  const resilience::RecorderImages images = read_twice([&] { return rank(); });
  EXPECT_EQ(images.before.size(), 1u);
  EXPECT_EQ(images.now.at(0).operations.at(0).looks, rank.reads() > first_look ? 1u : 0u) << "the last one";
  return rank.reads();
}

TEST(ReadTwice, reads_no_more_where_every_rank_waits) { EXPECT_EQ(reads_of(1), 2); }

TEST(ReadTwice, reads_again_where_a_rank_had_no_processor) { EXPECT_EQ(reads_of(3), 4); }

TEST(ReadTwice, believes_at_last_that_a_rank_is_at_nothing) { EXPECT_EQ(reads_of(1000), 6); }

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A command that prints the images of one recorder of that rank.
std::vector<std::string> printing(int rank) {
  RecorderImage image = ReadRank(0)().front();
  image.rank = rank;
  std::string text;
  for (const std::string id : {"before", "now"}) {
    image.read_ns += 1;
    for (const std::string& line : resilience::image_lines(image, id + std::to_string(rank)))
      text += line + "\n";
  }
  return {"printf", "%s", text};
}

TEST(RecorderReading, takes_what_each_host_prints) {
  RecorderReading reading({printing(0), printing(1)}, now_s() + 60);
  while (!reading.is_over(now_s())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const resilience::RecorderImages images = reading.images();
  ASSERT_EQ(images.now.size(), 2U);
  EXPECT_EQ(images.now[1].rank, 1);
  EXPECT_LT(images.before[1].read_ns, images.now[1].read_ns);
}

}  // namespace
}  // namespace tenax::app
