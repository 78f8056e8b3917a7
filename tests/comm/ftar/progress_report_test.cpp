// A rank sends again what its neighbour lacks, and nothing else.
#include "comm/ftar/progress_report.hpp"

#include <gtest/gtest.h>

#include <random>

#include "comm/ftar/gather_plan.hpp"
#include "comm/ftar/ring_plan.hpp"

namespace tenax::comm {
namespace {

using kernels::DType;
using kernels::Tensor;
using Kind = FtarMessage::Kind;

constexpr int kRanks = 3;
constexpr std::int64_t kElements = 999;

/// The buckets of one rank of the ring, without data.
class Rank {
 public:
  explicit Rank(int index) : shape_{kRanks, index, 256, 5} {}
  BucketExchange& add(int bucket, bool gathers = false) {
    const Tensor none{nullptr, DType::f64, {kElements}};
    std::unique_ptr<const ExchangePlan> plan;
    if (gathers)
      plan = std::make_unique<GatherPlan>(kElements, DType::f64, shape_);
    else
      plan = std::make_unique<RingPlan>(kElements, DType::f64, shape_);
    buckets.push_back(std::make_unique<BucketExchange>(BucketName{7, bucket},
                                                       BucketExchange::Tensors{none, none}, std::move(plan),
                                                       std::make_shared<Outcome>()));
    return *buckets.back();
  }
  ProgressReport::Buckets buckets;

 private:
  RingShape shape_;
};

void receive_all(BucketExchange& bucket) {
  for (int column = 0; column < bucket.plan().columns(); ++column)
    while (const auto chunk = bucket.next_to_receive(column)) bucket.count_received(*chunk);
}

/// What `after` has is told to `before` over the streams that are replaced. Returns whether it can be.
bool report(const Rank& after, const Rank& before, StreamPlace place) {
  ProgressReport told(place);
  for (const FtarMessage& message : ProgressReport::of(after.buckets, place, 5)) {
    if (message.kind == Kind::has) told.take(message);
    if (message.kind == Kind::complete) return told.apply(before.buckets);
    if (message.kind == Kind::grant) {
      EXPECT_TRUE(place.is_first());
      for (const auto& bucket : before.buckets)
        if (bucket->name() == BucketName{message.step, message.bucket}) bucket->grant();
    }
  }
  ADD_FAILURE() << "a report without an end";
  return false;
}

/// The connection breaks again and again, with some of what was sent still under way.
TEST(ProgressReport, has_every_chunk_sent_until_it_has_come_and_none_again) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int streams = 1 + round % 3;
    const bool gathers = round % 2 == 0;
    Rank before(0), after(1);
    BucketExchange& from = before.add(0, gathers);
    BucketExchange& to = after.add(0, gathers);
    receive_all(from);  // all that it needs from the rank before it
    from.grant();
    while (!to.has_received_all()) {
      std::vector<ChunkName> sent;
      while (const auto chunk = from.next_to_send()) {
        if (random() % 20 == 0) break;
        from.count_sent(*chunk);
        sent.push_back(*chunk);
      }
      const StreamPlace broken{static_cast<int>(random() % static_cast<unsigned>(streams)), streams};
      std::vector<bool> is_lost(static_cast<std::size_t>(from.plan().columns()), false);
      for (const ChunkName& chunk : sent) {
        const auto column = static_cast<std::size_t>(chunk.column);
        is_lost[column] = is_lost[column] || (broken.carries(chunk.column) && random() % 10 == 0);
        if (is_lost[column]) continue;
        ASSERT_EQ(to.next_to_receive(chunk.column), chunk) << "sent again, or too soon";
        to.count_received(chunk);
      }
      ASSERT_TRUE(report(after, before, broken));
    }
    EXPECT_FALSE(from.next_to_send());
    EXPECT_EQ(from.has_sent_all(), true);
  }
}

TEST(ProgressReport, acknowledges_what_is_complete_and_repeats_lost_grants) {
  Rank before(0), after(1);
  BucketExchange& done = before.add(0);
  BucketExchange& granted = before.add(1);
  BucketExchange& not_begun = before.add(2);
  done.grant();
  receive_all(done);
  while (const auto chunk = done.next_to_send()) done.count_sent(*chunk);
  after.add(1);  // bucket 0 has gone there, and its acknowledgement is lost
  ASSERT_TRUE(report(after, before, {1, 2})) << "another stream's report tells nothing of it";
  EXPECT_FALSE(done.is_acknowledged());
  EXPECT_FALSE(granted.is_granted());
  ASSERT_TRUE(report(after, before, {0, 2}));
  EXPECT_TRUE(done.is_acknowledged());
  EXPECT_TRUE(granted.is_granted());
  EXPECT_FALSE(granted.is_acknowledged());
  EXPECT_FALSE(not_begun.is_granted());
  EXPECT_FALSE(not_begun.is_acknowledged());
}

TEST(ProgressReport, refuses_what_cannot_be) {
  const auto is_possible = [](const FtarMessage& has) {
    Rank before(0);
    BucketExchange& bucket = before.add(0);
    bucket.grant();
    bucket.count_sent(*bucket.next_to_send());
    ProgressReport told({0, 1});
    told.take(has);
    return told.apply(before.buckets);
  };
  const auto has = [](std::int64_t turn, int column) {
    return message_about(Kind::has, {7, 0}, {turn, column});
  };
  EXPECT_TRUE(is_possible(has(0, 0)));
  EXPECT_TRUE(is_possible(has(1, 0)));
  EXPECT_FALSE(is_possible(has(2, 0))) << "has not been sent";
  EXPECT_FALSE(is_possible(has(-1, 0)));
  EXPECT_FALSE(is_possible(has(0, -1)));
  EXPECT_FALSE(is_possible(has(0, 5)));
  Rank before(0);
  before.add(0).grant();
  EXPECT_FALSE(ProgressReport({0, 1}).apply(before.buckets)) << "complete without having been sent";
}

}  // namespace
}  // namespace tenax::comm
