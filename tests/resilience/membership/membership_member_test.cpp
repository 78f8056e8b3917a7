#include "resilience/membership/membership_member.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace tenax::resilience {
namespace {

using Action = MemberPlan::Action;

const StepOutcome kLost{.has_all_sums = false, .suspect = 1, .why = "closed"};

Epoch epoch_of(std::int64_t number, std::int64_t from_step, bool is_behind = false) {
  Epoch epoch{.number = number, .from_step = from_step, .first_sample = 4 * from_step};
  epoch.members = {{{0, 1}, "h", {}, {}, is_behind}, {{1, 1}, "h", {}, {}, false}};
  epoch.parts = {{0, epoch.first_sample, 2}, {1, epoch.first_sample + 2, 2}};
  if (is_behind) epoch.parts = {{1, epoch.first_sample, 4}};
  return epoch;
}

StepOutcome complete(std::vector<char> whole = {1, 1}) {
  return {.has_all_sums = true, .whole = std::move(whole)};
}

/// Replica 0 of two, which has restored the state after `done` steps.
class Member : public MembershipMember {
 public:
  explicit Member(std::int64_t done = 0)
      : MembershipMember({.id = {0, 1}, .samples = {.global_batch = 4, .replicas = 2}, .train_steps = 100}) {
    on_connected(0);
    on_message(Restore{}, 0);
    on_restored(done, 4 * done);
    take_messages();
  }
  void hear(const ServiceMessage& message) { on_message(message, 0); }
  /// The newest message of a kind since the last call.
  template <class Message>
  std::optional<Message> said() {
    std::optional<Message> found;
    for (const MemberMessage& message : take_messages())
      if (const auto* known = std::get_if<Message>(&message)) found = *known;
    return found;
  }
  bool step(const StepOutcome& outcome) {
    begin_step();
    EXPECT_TRUE(begin_vote());
    return on_vote(outcome);
  }
};

TEST(MembershipMember, trains_step_after_step_without_a_message) {
  Member member;
  EXPECT_EQ(member.plan().action, Action::wait);
  member.hear(NewEpoch{epoch_of(1, 0)});
  for (std::int64_t step = 0; step < 5; ++step) {
    const MemberPlan plan = member.plan();
    ASSERT_EQ(plan.action, Action::train);
    EXPECT_EQ(plan.step, step);
    EXPECT_EQ(plan.parts, (std::vector<Part>{{0, 4 * step, 2}, {1, 4 * step + 2, 2}}));
    EXPECT_TRUE(member.step(complete()));
    const auto commit = member.said<Commit>();
    ASSERT_TRUE(commit);
    EXPECT_EQ(commit->record.step, step);
    EXPECT_EQ(commit->record.parts, plan.parts);
  }
}

TEST(MembershipMember, lets_only_commits_wait_that_the_writer_sends_too) {
  for (const int writer : {0, 1}) {
    Member member;
    Epoch epoch = epoch_of(1, 0);
    epoch.writer = writer;
    member.hear(NewEpoch{epoch});
    member.step(complete());
    EXPECT_EQ(member.has_urgent_messages(), writer == 0);
    member.on_validated({.done = 1, .loss = 3});
    EXPECT_TRUE(member.has_urgent_messages());
    EXPECT_EQ(member.take_messages().size(), 2U);
    EXPECT_FALSE(member.has_urgent_messages());
    member.step(kLost);
    EXPECT_TRUE(member.has_urgent_messages()) << "the survivors wait for its word";
  }
}

TEST(MembershipMember, tells_of_a_validation_until_it_is_recorded) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  member.step(complete());
  member.on_validated({.done = 1, .loss = 3});
  EXPECT_EQ(member.said<Validated>()->loss, 3);
  member.on_disconnected();
  member.on_connected(1);
  EXPECT_TRUE(member.said<Validated>());
  member.hear(ValidationAck{1});
  member.on_disconnected();
  member.on_connected(2);
  EXPECT_FALSE(member.said<Validated>());
}

TEST(MembershipMember, forgets_validations_of_steps_that_are_void) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  for (std::int64_t done = 1; done <= 3; ++done) {
    member.step(complete());
    member.on_validated({.done = done, .loss = 3});
  }
  member.hear(Freeze{.change = 1, .epoch = 1});
  member.on_disconnected();
  member.hear(NewEpoch{epoch_of(2, 2, true)});
  member.on_connected(1);
  EXPECT_FALSE(member.said<Validated>()) << "it holds no state: others say so";
  member.on_fetched(2);
  EXPECT_EQ(member.said<Validated>()->done, 2);
}

TEST(MembershipMember, answers_at_once_in_the_passes_and_has_no_vote_then) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  member.begin_step();
  member.hear(Freeze{.change = 3, .epoch = 1});
  const auto report = member.said<Report>();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->change, 3);
  EXPECT_EQ(report->done, 0);
  EXPECT_TRUE(report->has_begun);
  EXPECT_EQ(report->parts, (std::vector<Part>{{0, 0, 2}}));
  EXPECT_EQ(member.frozen_epoch(), 1);
  EXPECT_FALSE(member.begin_vote());
  EXPECT_EQ(member.plan().action, Action::wait);
  member.hear(NewEpoch{epoch_of(2, 0)});
  EXPECT_EQ(member.plan().action, Action::train);
  EXPECT_EQ(member.plan().step, 0);
}

TEST(MembershipMember, answers_after_the_vote_that_a_freeze_finds_under_way) {
  for (const bool has_all : {false, true}) {
    Member member;
    member.hear(NewEpoch{epoch_of(1, 0)});
    member.begin_step();
    ASSERT_TRUE(member.begin_vote());
    member.hear(Freeze{.change = 3, .epoch = 1});
    EXPECT_FALSE(member.said<Report>());
    EXPECT_EQ(member.on_vote(has_all ? complete() : kLost), has_all);
    const std::vector<MemberMessage> said = member.take_messages();
    ASSERT_EQ(said.size(), has_all ? 2u : 1u) << "no suspicion: it was frozen";
    EXPECT_EQ(std::get<Report>(said.back()).done, has_all ? 1 : 0);
    EXPECT_EQ(member.plan().action, Action::wait);
  }
}

TEST(MembershipMember, names_where_its_exchange_failed_and_waits) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  EXPECT_FALSE(member.step(kLost));
  const auto suspect = member.said<Suspect>();
  ASSERT_TRUE(suspect);
  EXPECT_EQ(suspect->replica, 1);
  EXPECT_EQ(member.plan().action, Action::wait);
}

TEST(MembershipMember, goes_on_to_the_step_it_is_held_at_and_waits_there) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  member.begin_step();
  member.hear(Hold{.change = 4, .epoch = 1, .step = 1});
  ASSERT_TRUE(member.begin_vote());
  EXPECT_TRUE(member.on_vote(complete()));
  EXPECT_EQ(member.said<Report>()->done, 1);
  EXPECT_EQ(member.plan().action, Action::wait);
  member.hear(Hold{.change = 5, .epoch = 1, .step = 2});
  EXPECT_EQ(member.plan().action, Action::train);
  member.step(complete());
  EXPECT_EQ(member.plan().action, Action::wait);
  member.hear(Resume{.change = 5});
  EXPECT_EQ(member.plan().action, Action::train);
}

TEST(MembershipMember, says_so_when_it_has_begun_the_step_it_should_be_held_at) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  member.begin_step();
  member.hear(Hold{.change = 4, .epoch = 1, .step = 0});
  EXPECT_EQ(member.said<HoldMissed>()->step, 1);
}

TEST(MembershipMember, takes_part_without_samples_until_it_has_fetched_the_state) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 6, true)});
  EXPECT_TRUE(member.plan().is_behind);
  EXPECT_EQ(member.plan().holders, std::vector<int>{1});
  EXPECT_FALSE(member.step(complete({0, 1}))) << "it has no weights to update";
  EXPECT_FALSE(member.said<Commit>());
  EXPECT_TRUE(member.plan().is_behind);
  member.begin_step();
  member.on_fetched(6);
  EXPECT_FALSE(member.progress().is_whole()) << "that is an old state";
  member.on_fetched(7);
  EXPECT_TRUE(member.progress().is_whole());
  EXPECT_EQ(member.said<Commit>()->record.step, 6) << "the state may have no other holder soon";
  ASSERT_TRUE(member.begin_vote());
  EXPECT_TRUE(member.on_vote(complete({1, 1})));
  EXPECT_FALSE(member.plan().is_behind);
  EXPECT_EQ(member.plan().parts, (std::vector<Part>{{0, 32, 2}, {1, 34, 2}}));
  EXPECT_EQ(member.said<Commit>()->record.step, 7);
}

TEST(MembershipMember, keeps_commits_until_they_are_acknowledged_and_sends_them_again_to_a_new_service) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  for (int step = 0; step < 3; ++step) member.step(complete());
  member.hear(CommitAck{2});
  EXPECT_FALSE(member.run_stops());
  member.on_disconnected();
  member.step(complete());
  member.on_connected(1);
  const std::vector<MemberMessage> said = member.take_messages();
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(std::get<CheckIn>(said[0]).epoch, 1);
  EXPECT_FALSE(std::get<CheckIn>(said[0]).needs_change);
  EXPECT_EQ(std::get<Commit>(said[1]).record.step, 2);
  EXPECT_EQ(std::get<Commit>(said[2]).record.step, 3);
  member.hear(CommitAck{3, true});
  EXPECT_TRUE(member.run_stops());
  member.on_disconnected();
  EXPECT_FALSE(member.run_stops()) << "nobody ends it now";
}

TEST(MembershipMember, forgets_the_commits_of_steps_beyond_the_checkpoint_that_all_go_back_to) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 6, true)});
  member.step(complete({0, 1}));
  member.hear(Freeze{.change = 1, .epoch = 1});
  member.hear(Restore{});
  member.on_restored(4, 16);
  member.on_disconnected();
  member.take_messages();
  member.on_connected(1);
  EXPECT_EQ(member.take_messages().size(), 1u) << "the check-in alone";
}

TEST(MembershipMember, keeps_its_answer_when_the_service_goes_away) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  member.hear(Hold{.change = 4, .epoch = 1, .step = 0});
  member.on_disconnected();
  EXPECT_EQ(member.plan().action, Action::wait) << "the service may have decided";
  member.on_connected(0);
  EXPECT_TRUE(member.said<CheckIn>()->needs_change);
}

TEST(MembershipMember, goes_on_without_a_service_when_it_was_only_asked) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  member.hear(Hold{.change = 4, .epoch = 1, .step = 1});
  member.on_disconnected();
  member.step(complete());
  EXPECT_EQ(member.plan().action, Action::train);
}

TEST(MembershipMember, gives_up_when_it_needs_a_service_for_too_long_only) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  member.on_disconnected();
  member.on_time(5000);
  EXPECT_EQ(member.plan().action, Action::train);
  member.step(kLost);
  member.on_time(5001);
  member.on_time(5600);
  EXPECT_EQ(member.plan().action, Action::wait);
  member.on_time(5602);
  EXPECT_EQ(member.plan().action, Action::give_up);
  EXPECT_EQ(member.plan().status, 1);
}

TEST(MembershipMember, saves_nothing_without_the_state_when_it_gives_up) {
  for (const bool is_member : {false, true}) {
    Member member;
    if (is_member) member.hear(NewEpoch{epoch_of(1, 6, true)});  // it is behind
    if (is_member) member.step(kLost);
    member.on_disconnected();
    member.on_time(5000);
    member.on_time(5601);
    EXPECT_EQ(member.plan().action, Action::exit) << is_member;
    EXPECT_EQ(member.plan().status, 1);
  }
}

TEST(MembershipMember, beats_once_a_heartbeat) {
  Member member;
  int beats = 0;
  for (int i = 1; i <= 100; ++i) {
    member.on_time(0.01 * i);
    beats += member.said<Beat>().has_value();
  }
  EXPECT_NEAR(beats, 10, 1);
}

TEST(MembershipMember, saves_the_last_checkpoint_where_it_is_the_writer_and_exits_when_the_run_ends) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  member.hear(StopAt{.done = 0, .writer = 1});
  EXPECT_EQ(member.plan().action, Action::wait);
  member.hear(StopAt{.done = 0, .writer = 0});
  EXPECT_EQ(member.plan().action, Action::save);
  member.on_saved({.done = 0});
  EXPECT_EQ(member.said<Saved>()->done, 0);
  member.hear(Ended{});
  EXPECT_EQ(member.plan().action, Action::exit);
  EXPECT_EQ(member.plan().status, 0);
}

TEST(MembershipMember, saves_the_last_checkpoint_where_the_one_in_between_of_that_step_failed) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  member.on_saved({.done = 0, .failure = "the disk is full"});
  EXPECT_TRUE(member.said<Saved>().has_value());
  member.hear(StopAt{.done = 0, .writer = 0});
  EXPECT_EQ(member.plan().action, Action::save);
  EXPECT_FALSE(member.said<Saved>().has_value());
}

TEST(MembershipMember, tells_of_its_join_until_it_is_recorded) {
  Member member;
  member.hear(NewEpoch{epoch_of(2, 0)});
  member.step(complete({0, 1}));
  member.on_joined({.bytes = 7});
  const auto says_it_again = [&] {
    member.on_disconnected();
    member.take_messages();
    member.on_connected(1);
    return member.said<Joined>().has_value();
  };
  EXPECT_EQ(member.said<Joined>()->epoch, 2);
  member.hear(JoinAck{1});
  EXPECT_TRUE(says_it_again()) << "that was an earlier one";
  member.hear(JoinAck{2});
  EXPECT_FALSE(says_it_again());
}

TEST(MembershipMember, tells_what_it_has_observed_until_it_is_recorded) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0, true)});
  member.on_disconnected();
  member.on_observed({.event = "onset"});
  member.on_observed({.event = "fail_slow"});
  const auto said = [&] {
    std::vector<std::string> events;
    for (const MemberMessage& message : member.take_messages())
      if (const auto* observed = std::get_if<Observed>(&message)) events.push_back(observed->event);
    return events;
  };
  EXPECT_TRUE(said().empty()) << "there is no service";
  member.on_connected(1);
  EXPECT_EQ(said(), (std::vector<std::string>{"onset", "fail_slow"}));
  member.hear(ObservationAck{1});
  member.on_observed({.event = "healed"});
  EXPECT_EQ(said(), std::vector<std::string>{"healed"});
  member.on_disconnected();
  member.on_connected(2);
  EXPECT_EQ(said(), (std::vector<std::string>{"fail_slow", "healed"}));
  member.hear(ObservationAck{3});
  member.on_disconnected();
  member.on_connected(3);
  EXPECT_TRUE(said().empty());
}

TEST(MembershipMember, tells_a_service_that_comes_later_what_it_has_saved) {
  Member member;
  member.hear(NewEpoch{epoch_of(1, 0)});
  member.on_saved({.done = 0, .bytes = 7});
  member.on_disconnected();
  member.take_messages();
  member.on_connected(1);
  EXPECT_EQ(member.said<Saved>()->bytes, 7);
}

TEST(MembershipMember, exits_with_the_reason_when_it_is_evicted) {
  Member member;
  member.hear(Evicted{"silent"});
  EXPECT_EQ(member.plan().action, Action::exit);
  EXPECT_EQ(member.plan().status, 1);
  EXPECT_EQ(member.plan().reason, "silent");
}

}  // namespace
}  // namespace tenax::resilience
