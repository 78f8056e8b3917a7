#include "app/training/loop_stop.hpp"

#include <csignal>
#include <filesystem>
#include <memory>
#include <utility>

#include "comm/transport/transports.hpp"
#include "comm/world.hpp"
#include "kernels/deadline.hpp"
#include "resilience/replicas/leader_heartbeat.hpp"
#include "resilience/replicas/step_points.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::app {
namespace {

class LoopStopTest : public testing::Test {
 protected:
  LoopStopTest() { deck_.run.output_dir = folder_.path(); }
  ~LoopStopTest() override { StopSignals::release(); }
  LoopStop alone() { return {deck_, signals_, nullptr, kernels::steady_now_s()}; }
  LoopStop with_peers() { return {deck_, signals_, &session_, kernels::steady_now_s()}; }
  struct Why {
    bool signalled = false, time_is_up = false, restarts = false;
  };
  static StepVote voted(const Why& why) {
    StepVote vote;
    vote.verdict = Verdict::suspend;
    vote.signalled = why.signalled;
    vote.time_is_up = why.time_is_up;
    vote.restarts = why.restarts;
    return vote;
  }
  static StepBallot filled(const LoopStop& stop) {
    StepBallot ballot;
    stop.fill(ballot);
    return ballot;
  }
  bool names_hosts() const { return std::filesystem::exists(folder_.path() / "exclude_hosts.txt"); }

  StopSignals signals_;  // first: threads started later inherit the blocked signals
  const io::test::TemporaryFolder folder_;
  io::Deck deck_;
  const std::unique_ptr<comm::World> world_ =
      std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  const std::unique_ptr<comm::ControlGroup> control_ = world_->control_group();

 private:
  // Of a rank that is not its replica's first.
  const std::unique_ptr<comm::Transport> transport_ = comm::create_transport(
      {.kind = comm::TransportKind::tcp, .interfaces = {"lo"}, .deadline_s = 20, .secret = comm::one_job()});
  const std::unique_ptr<kernels::Device> device_ = kernels::create_cpu_device();
  const resilience::FrozenEpoch frozen_;
  resilience::StepPoints points_;
  resilience::ReplicaSession session_{*control_, *transport_, *transport_, *device_, nullptr,
                                      frozen_,   {},          points_,     {}};
};

TEST_F(LoopStopTest, nothing_ends_a_run_but_its_last_step) {
  LoopStop stop = alone();
  EXPECT_FALSE(stop.wish().any());
  const StepBallot ballot = filled(stop);
  EXPECT_FALSE(ballot.signalled || ballot.time_is_up || ballot.restarts);
  EXPECT_TRUE(stop.goes_on());
  EXPECT_EQ(stop.end(true), "completed");
}

TEST_F(LoopStopTest, the_vote_says_why_it_ends_a_signal_first) {
  LoopStop stop = alone();
  stop.suspend(voted({.signalled = true, .time_is_up = true, .restarts = true}));
  EXPECT_FALSE(stop.goes_on());
  EXPECT_EQ(stop.end(false), "signal");
  stop.suspend(voted({.time_is_up = true, .restarts = true}));
  EXPECT_EQ(stop.end(false), "time_limit");
  stop.suspend(voted({.restarts = true}));
  EXPECT_EQ(stop.end(false), "restart");
}

TEST_F(LoopStopTest, a_run_that_was_asked_to_end_in_its_last_step_is_completed) {
  LoopStop stop = alone();
  stop.suspend(voted({.signalled = true}));
  EXPECT_EQ(stop.end(true), "completed");
}

TEST_F(LoopStopTest, what_ends_it_between_steps_is_a_signal_or_the_time_limit) {
  LoopStop stop = alone();
  stop.break_off({.signalled = true, .time_is_up = true});
  EXPECT_EQ(stop.end(false), "signal");
  stop.break_off({.time_is_up = true});
  EXPECT_EQ(stop.end(false), "time_limit");
}

TEST_F(LoopStopTest, with_peers_somebody_has_asked_for_the_end_or_all_steps_are_done) {
  LoopStop stop = with_peers();
  EXPECT_EQ(stop.end(false), "signal");
  EXPECT_EQ(stop.end(true), "completed");
}

TEST_F(LoopStopTest, the_time_limit_is_that_of_the_process) {
  deck_.run.max_minutes = 1;
  EXPECT_FALSE(filled(alone()).time_is_up);
  const LoopStop late(deck_, signals_, nullptr, kernels::steady_now_s() - 61);
  EXPECT_TRUE(filled(late).time_is_up);
  EXPECT_TRUE(late.wish().time_is_up);
}

TEST_F(LoopStopTest, a_signal_is_told_to_the_vote_and_between_votes) {
  const LoopStop stop = alone();
  std::raise(SIGUSR1);
  EXPECT_TRUE(filled(stop).signalled);
  EXPECT_TRUE(stop.wish().signalled);
}

// The exit status of the one is 3, of the other 0.
TEST_F(LoopStopTest, hosts_are_excluded_where_the_run_ends_for_that_alone) {
  LoopStop stop = alone();
  stop.restart_without({"slow"});
  EXPECT_TRUE(filled(stop).restarts);
  stop.suspend(voted({.signalled = true, .restarts = true}));
  stop.end(false);
  stop.exclude_hosts(*control_);
  EXPECT_FALSE(names_hosts());
  stop.suspend(voted({.restarts = true}));
  stop.end(false);
  stop.exclude_hosts(*control_);
  EXPECT_EQ(folder_.read("exclude_hosts.txt"), "slow\n");
}

}  // namespace
}  // namespace tenax::app
