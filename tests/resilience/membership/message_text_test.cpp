#include "resilience/membership/message_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

const std::vector<Part> kParts{{0, 0, 4}, {2, 4, 8}};

std::vector<MemberMessage> member_messages() {
  const CommitRecord record{.time = 1.5e9 + 0.1,
                            .step = 7,
                            .epoch = 3,
                            .first_sample = 84,
                            .parts = kParts,
                            .loss = 0.1,
                            .grad_norm = 1e-300,
                            .lr = 3e-4,
                            .squares = 0xFFFFFFFFFFFFFFFF,
                            .sums = {0xFFFFFFFFFFFFFFFE, 3},
                            .digest = StateDigest{{{{0xFFFFFFFFFFFFFFFD, 1}, {2, 3}, {4, 5}}}},
                            .iteration_s = 0.2,
                            .members = {{.replica = 1, .iteration_s = 0.2, .exchange_s = 1e-4}},
                            .is_crowded = true};
  return {CheckIn{.id = {1, 2},
                  .build = "b \"1\"",
                  .deck = "d",
                  .data = "0123456789abcdef",
                  .loops = "avx512, from rank 8 on avx2",
                  .host = "node\n7",
                  .addresses = {"tcp:[::1]:4#x", ""},
                  .done = -1,
                  .next_sample = std::numeric_limits<std::int64_t>::max(),
                  .epoch = 4,
                  .needs_change = true,
                  .stops = false},
          Beat{.epoch = 3, .step = 9, .phase = StepPhase::vote},
          Report{.change = 5, .epoch = 3, .done = 9, .next_sample = 96, .has_begun = true, .parts = kParts},
          HoldMissed{.change = 5, .step = 11},
          Commit{record},
          Suspect{.epoch = 3, .replica = -1, .why = "timeout"},
          Accuse{.epoch = 3,
                 .accusation = {.replica = 2, .by = CorruptBy::non_finite, .right = {1, 2}, .wrong = {3, 4}}},
          Restored{.done = 4, .next_sample = 48},
          Saved{.done = 4, .bytes = 9, .seconds = 0.5, .failure = "full", .is_final = true},
          Validated{.done = 9, .loss = 0.1, .seconds = 2.5},
          Joined{.epoch = 3, .state_s = 0.2, .held_s = 0.1, .bytes = 1 << 20, .sources = 2},
          RankLost{.rank = 3, .host = "a", .silent_s = 0.5, .is_gone = true},
          ServiceMissed{.seconds = 7.25},
          Observed{.number = 3, .event = "onset", .step = 8, .details = R"({"ratio": 1.5})"},
          SpareReady{.spare = 3},
          StopWish{},
          Leave{}};
}

std::vector<ServiceMessage> service_messages() {
  const Epoch epoch{
      .number = 2,
      .from_step = 5,
      .first_sample = 60,
      .members = {{{0, 1}, "a", {"tcp:a:1#k"}, {"tcp:s:1#k"}, false}, {{2, 7}, "b", {}, {}, true}},
      .parts = kParts,
      .writer = 2,
      .reason = EpochReason::join};
  return {Refused{"no"},
          Freeze{1, 2},
          Hold{3, 4, 5},
          Resume{6},
          NewEpoch{epoch},
          CommitAck{7, true},
          ValidationAck{8},
          JoinAck{9},
          ObservationAck{10},
          Restore{},
          StopAt{.done = 8, .writer = 2},
          Ended{},
          TakePlace{{1, 2}},
          Evicted{"silent"}};
}

std::string refusal(const std::string& text) {
  try {
    parse_member_message(text);
  } catch (const kernels::Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MessageText, reads_back_equal) {
  for (const MemberMessage& message : member_messages()) {
    const MemberMessage again = parse_member_message(to_text(message));
    EXPECT_EQ(again.index(), message.index());
    EXPECT_EQ(to_text(again), to_text(message));
  }
  for (const ServiceMessage& message : service_messages()) {
    const ServiceMessage again = parse_service_message(to_text(message));
    EXPECT_EQ(again.index(), message.index());
    EXPECT_EQ(to_text(again), to_text(message));
  }
}

TEST(MessageText, keeps_numbers_bit_for_bit) {
  const MemberMessage commit = member_messages()[4];
  const CommitRecord before = std::get<Commit>(commit).record;
  const CommitRecord after = std::get<Commit>(parse_member_message(to_text(commit))).record;
  EXPECT_EQ(after.time, before.time);
  EXPECT_EQ(after.grad_norm, before.grad_norm);
  EXPECT_EQ(after.squares, before.squares);
  EXPECT_EQ(after.sums, before.sums);
  EXPECT_EQ(after.digest, before.digest);
  EXPECT_EQ(after.parts, before.parts);
}

TEST(MessageText, reads_a_number_that_is_not_finite_as_none) {
  CommitRecord record;
  record.loss = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(std::get<Commit>(parse_member_message(to_text(Commit{record}))).record.loss));
}

TEST(MessageText, is_the_kind_and_the_fields_by_name) {
  EXPECT_EQ(to_text(Beat{.epoch = 3, .step = 9, .phase = StepPhase::passes}),
            R"({"kind": "beat", "epoch": 3, "step": 9, "phase": "passes"})");
}

TEST(MessageText, is_refused_with_one_sentence_where_it_is_malformed) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "is not valid JSON"},
           {"[]", "needs 'kind'"},
           {"{}", "needs 'kind'"},
           {R"({"kind":7})", "needs 'kind', a string"},
           {R"({"kind":"freeze","change":1,"epoch":2})", "unknown kind 'freeze'"},
           {R"({"kind":"saved"})", "needs 'done', an integer"},
           {R"({"kind":"saved","done":1.5})", "needs 'done', an integer"},
           {R"({"kind":"saved","done":18446744073709551615})", "needs 'done', an integer of 64 bits"},
           {R"({"kind":"saved","done":1,"bytes":1,"seconds":1,"failure":"","is_final":false,"more":2})",
            "fields that are not known"},
           {R"({"kind":"suspect","epoch":1,"replica":4294967296,"why":""})", "an integer of 32 bits"},
           {R"({"kind":"beat","epoch":1,"step":2,"phase":"asleep"})", "needs 'phase', one of"},
           {R"({"kind":"report","change":1,"epoch":1,"done":2,"next_sample":3,"has_begun":1,"parts":[]})",
            "needs 'has_begun', true or false"},
           {R"({"kind":"report","change":1,"epoch":1,"done":2,"next_sample":3,"has_begun":true,"parts":[4]})",
            "needs 'replica'"}})
    EXPECT_NE(refusal(text).find(why), std::string::npos) << text << " gives: " << refusal(text);
}

}  // namespace
}  // namespace tenax::resilience
