// Replicas whose ranks are threads of this process, and a service that decides for them.
#include "resilience/replicas/replica_session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "comm/messages/message_client.hpp"
#include "resilience/faults/injected_peer_transport.hpp"
#include "resilience/replicas/membership_server.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/resilience/replicas/state_source.hpp"

namespace tenax::resilience {
namespace {

using Action = MemberPlan::Action;

constexpr int kRanks = 2;  // of each replica
/// A connection is made before; a leader gives up the others' numbers after 1.5 times that.
constexpr double kExchange_s = 2;
constexpr double kGroup_s = 4;   // a replica's ranks wait for each other
constexpr double kLonger_s = 5;  // than either
constexpr double kJoinWait_s = 40;
constexpr double kDead_s = 3;  // who gives no sign of life for so long is lost
/// So far apart two replicas may notice that the exchange between them failed.
constexpr double kSuspect_s = 2;

class NoStore final : public RecordStore {
 public:
  bool append(const std::vector<Record>&) override { return true; }
  void sync() override {}
  std::vector<Record> load() override { return {}; }
};

/// What a rank does in its own way.
struct RankWays {
  double state_bytes_per_s = 0;
  PeerFaults* faults = nullptr;  // of its links to other replicas
  std::function<double(std::int64_t step)> squares = [](std::int64_t) { return 1.0; };  // of its own sums
  std::function<void(std::int64_t step)> when_passed = [](std::int64_t) {};  // its sums are under way
  std::function<bool(std::int64_t done)> ends = [](std::int64_t) { return false; };
};

std::unique_ptr<comm::Transport> transport_of(const RankWays& ways) {
  auto transport = comm::create_transport(
      {.kind = comm::TransportKind::tcp, .interfaces = {"lo"}, .deadline_s = 20, .secret = comm::one_job()});
  if (!ways.faults) return transport;
  return std::make_unique<InjectedPeerTransport>(std::move(transport), *ways.faults);
}

OwnSquares compute_again(const Doubt& doubt, int replica) {
  if (doubt.verifier != replica) return {};
  kernels::sleep_until_s(kernels::steady_now_s() + kLonger_s);
  return {.squares = 1};
}

void wait_until(const std::function<bool()>& is_so) {
  for (const auto latest = kernels::Deadline::after_s(60); !is_so() && !latest.expired();)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

class ReplicaSessionTest : public testing::Test {
 protected:
  explicit ReplicaSessionTest(int replicas = 2) : replicas_(replicas) {}
  /// A replica from its start to its end.
  void run(ReplicaId id, const std::function<RankWays(int rank)>& ways) {
    comm::run_ranks(kRanks, kGroup_s, [&](comm::World& world) { run_rank(id, world, ways(world.rank())); });
  }
  std::size_t epochs() const {
    const std::lock_guard lock(mutex_);
    return epochs_;
  }
  std::vector<ReplicaLost> lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
  }
  std::vector<Joined> joined() const {
    const std::lock_guard lock(mutex_);
    return joined_;
  }

 private:
  void run_rank(ReplicaId id, comm::World& world, const RankWays& ways);
  ReplicaLeader::Options leader_options(ReplicaId id, std::vector<std::string> addresses) const;
  MembershipOptions membership() const {
    MembershipOptions options;
    options.replicas = replicas_;
    options.build = "b";
    options.deck = "d";
    options.samples = {.global_batch = 2 * replicas_, .replicas = replicas_};
    options.train_steps = 1000000;
    options.dead_s = kDead_s;
    options.suspect_s = kSuspect_s;
    return options;
  }

  const int replicas_;
  NoStore store_;
  mutable std::mutex mutex_;  // of what follows
  std::size_t epochs_ = 0;
  std::vector<ReplicaLost> lost_;
  std::vector<Joined> joined_;

 protected:
  MembershipServer server_{{.membership = membership(),
                            .messages = {.secret = comm::one_job(), .listen = {}, .interfaces = {"lo"}},
                            .heartbeat_s = 0.05},
                           store_,
                           {},
                           {[](const Record&) {},
                            [this](const ServiceEvent& event) {
                              const std::lock_guard lock(mutex_);
                              if (std::holds_alternative<EpochBegan>(event)) ++epochs_;
                              if (const auto* it = std::get_if<ReplicaLost>(&event)) lost_.push_back(*it);
                              if (const auto* it = std::get_if<ReplicaJoined>(&event))
                                joined_.push_back(it->joined);
                            }}};
};

ReplicaLeader::Options ReplicaSessionTest::leader_options(ReplicaId id,
                                                          std::vector<std::string> addresses) const {
  return {.member = {.id = id,
                     .build = "b",
                     .deck = "d",
                     .host = "h",
                     .addresses = std::move(addresses),
                     .samples = membership().samples,
                     .train_steps = membership().train_steps,
                     .heartbeat_s = 0.05},
          .secret = comm::one_job(),
          .find_service = [this] { return server_.addresses(); },
          .connect =
              [](const comm::MessageClientOptions& options) {
                EXPECT_TRUE(options.is_patient) << "a supervisor may stand still";
                return std::make_unique<comm::MessageClient>(options);
              },
          .dead_s = kDead_s,
          .hosts = std::vector<std::string>(kRanks, "h")};
}

void ReplicaSessionTest::run_rank(ReplicaId id, comm::World& world, const RankWays& ways) {
  Source own(world.rank(), transport_of(ways));
  const auto control = world.control_group();
  const auto device = kernels::create_cpu_device();
  FrozenEpoch frozen;
  std::string address;
  for (const std::string& each : own.transport->addresses()) address += each + " ";
  const std::vector<std::string> addresses = control->all_gather(address);
  std::optional<LeaderHeartbeat> ranks;
  std::optional<ReplicaLeader> leader;
  if (world.rank() == 0) {
    ranks.emplace(comm::MessageServerOptions{.secret = comm::one_job(), .listen = {}, .interfaces = {"lo"}},
                  1, frozen);
    leader.emplace(leader_options(id, addresses), *ranks);
  }
  comm::FtarOptions exchange;
  exchange.deadline_s = kExchange_s;
  exchange.longest_s = 30;
  exchange.alive_s = 0.05;
  exchange.dead_s = kDead_s;
  ReplicaSession session(*control, *own.transport, *own.transport, *device, leader ? &*leader : nullptr,
                         frozen, {.slices = &own.slices, .publish = [] {}}, own.nobody,
                         {.replica = id.replica,
                          .rank = world.rank(),
                          .exchange = exchange,
                          .join_wait_s = kJoinWait_s,
                          .deadline_s = kGroup_s,
                          .state_bytes_per_s = ways.state_bytes_per_s});
  std::vector<float> gradients(1000, 1), sums(1000);
  while (true) {
    const StepWork work = session.begin();
    if (work.plan.action == Action::exit || ways.ends(work.plan.step)) return;
    if (work.plan.action == Action::restore) session.on_restored(0, 0);
    if (work.plan.action == Action::save) session.on_saved({.done = work.plan.step});
    if (work.plan.action != Action::train) continue;
    const auto stream = device->create_stream();
    const auto tensor = [](std::vector<float>& values) {
      return kernels::Tensor(values.data(), kernels::DType::f32, {static_cast<std::int64_t>(values.size())});
    };
    session.start(*stream, 0, {tensor(gradients), tensor(sums)});
    ways.when_passed(work.plan.step);
    const bool has_sums =
        session.wait_for_pieces({.loss = 1, .own = {.squares = ways.squares(work.plan.step)}});
    std::vector<double> lacks = {has_sums ? 0.0 : 1.0, session.lacks_state() ? 1.0 : 0.0};
    control->all_reduce_sum(lacks);
    StepTotals totals = session.conclude(
        {.has_all_sums = lacks[0] == 0, .has_state = lacks[1] == 0, .tokens = 4, .squares = 1});
    if (totals.doubt) totals = session.settle(compute_again(*totals.doubt, id.replica));
    if (totals.updates) session.before_update();
  }
}

// Longer than an exchange may stand still; one rank waits for the other, and the other replica for both.
TEST_F(ReplicaSessionTest, waits_for_a_state_that_takes_longer_than_a_group_may_wait) {
  std::thread survivor([&] { run({0, 1}, [](int) { return RankWays{}; }); });
  run({1, 1}, [](int) { return RankWays{.ends = [](std::int64_t step) { return step >= 2; }}; });
  wait_until([&] { return epochs() > 1; });
  constexpr double kState_s = 8;  // less what the limit lets pass at once
  std::thread joiner([&] {
    run({1, 2}, [](int rank) {
      std::int64_t numbers = 0;
      for (const std::int64_t count : kCounts) numbers += 3 * count;
      const double rate = 4 * static_cast<double>(numbers) / kState_s;
      return RankWays{.state_bytes_per_s = rank == 1 ? rate : 0};
    });
  });
  wait_until([&] { return !joined().empty(); });
  server_.wish_stop();
  survivor.join();
  joiner.join();
  ASSERT_EQ(joined().size(), 1u);
  EXPECT_GT(joined()[0].held_s, kGroup_s);
  EXPECT_EQ(epochs(), 3u) << "of both, of the survivor, and of both again";
}

TEST_F(ReplicaSessionTest, stops_without_a_state_that_takes_long) {
  std::thread survivor([&] { run({0, 1}, [](int) { return RankWays{}; }); });
  run({1, 1}, [](int) { return RankWays{.ends = [](std::int64_t step) { return step >= 2; }}; });
  wait_until([&] { return epochs() > 1; });
  std::atomic<bool> is_there = false;
  std::thread joiner([&] {
    run({1, 2},
        [&](int) { return RankWays{.state_bytes_per_s = 1, .when_passed = [&](auto) { is_there = true; }}; });
  });
  wait_until([&] { return is_there.load(); });
  const double asked_s = kernels::steady_now_s();
  server_.wish_stop();
  survivor.join();
  joiner.join();
  EXPECT_LT(kernels::steady_now_s() - asked_s, kJoinWait_s / 2);
  EXPECT_TRUE(joined().empty());
}

TEST_F(ReplicaSessionTest, waits_for_a_replica_that_starts_later_than_a_group_may_wait) {
  std::thread first([&] { run({0, 1}, [](int) { return RankWays{}; }); });
  kernels::sleep_until_s(kernels::steady_now_s() + kLonger_s);
  std::thread last([&] { run({1, 1}, [](int) { return RankWays{}; }); });
  wait_until([&] { return epochs() > 0; });
  server_.wish_stop();
  first.join();
  last.join();
  EXPECT_EQ(epochs(), 1u);
  EXPECT_TRUE(lost().empty());
}

TEST_F(ReplicaSessionTest, waits_for_a_verifier_that_computes_longer_than_a_group_may_wait) {
  std::thread right([&] { run({0, 1}, [](int) { return RankWays{}; }); });
  std::thread wrong([&] {
    const auto squares = [](std::int64_t step) {
      return step < 2 ? 1 : std::numeric_limits<double>::infinity();
    };
    run({1, 1}, [&](int) { return RankWays{.squares = squares}; });
  });
  wait_until([&] { return !lost().empty(); });
  server_.wish_stop();
  right.join();
  wrong.join();
  ASSERT_EQ(lost().size(), 1u);
  EXPECT_EQ(lost()[0].id, (ReplicaId{1, 1}));
  EXPECT_EQ(lost()[0].reason, LossReason::corrupt);
}

// Both leaders reach each other, and the service.
TEST_F(ReplicaSessionTest, does_without_a_replica_that_one_rank_cannot_reach) {
  PeerFaults dark(0, {{.occasion = FaultOccasion({.from_step = 2}, {}), .peer = 1, .seconds = 100}}, {});
  std::thread survivor([&] {
    run({0, 1}, [&](int rank) {
      return rank == 0 ? RankWays{}
                       : RankWays{.faults = &dark, .when_passed = [&](auto step) { dark.begin_step(step); }};
    });
  });
  std::thread other([&] { run({1, 1}, [](int) { return RankWays{}; }); });
  wait_until([&] { return !lost().empty(); });
  server_.wish_stop();
  survivor.join();
  other.join();
  ASSERT_EQ(lost().size(), 1u);
  EXPECT_EQ(lost()[0].id, (ReplicaId{1, 1}));
  EXPECT_EQ(lost()[0].reason, LossReason::connection);
  EXPECT_GT(epochs(), 1u) << "of both, and of both again";
}

// Both ends of a path of one rank notice that nothing comes. In the next epoch it is well again.
TEST_F(ReplicaSessionTest, loses_nobody_where_one_rank_does_not_reach_another_once) {
  constexpr double kDark_s = kDead_s + kSuspect_s;
  PeerFaults dark(0, {{.occasion = FaultOccasion({.from_step = 2}, {}), .peer = 1, .seconds = kDark_s}}, {});
  bool was_dark = false;
  std::atomic<std::int64_t> step = 0;
  const auto when_passed = [&](std::int64_t now) {
    step = now;
    if (now >= 2 && !std::exchange(was_dark, true)) dark.begin_step(now);
  };
  std::thread one([&] {
    run({0, 1}, [&](int rank) {
      return rank == 0 ? RankWays{} : RankWays{.faults = &dark, .when_passed = when_passed};
    });
  });
  std::thread other([&] { run({1, 1}, [](int) { return RankWays{}; }); });
  wait_until([&] { return step > 9 || !lost().empty(); });
  server_.wish_stop();
  one.join();
  other.join();
  EXPECT_TRUE(lost().empty());
}

class ThreeReplicaSessionTest : public ReplicaSessionTest {
 protected:
  ThreeReplicaSessionTest() : ReplicaSessionTest(3) {}
};

// The leaders of the others have all sums, and wait in vain for its numbers.
TEST_F(ThreeReplicaSessionTest, lose_nobody_where_one_is_late_with_its_numbers) {
  std::array<std::atomic<bool>, kRanks> was_late{};
  const auto sleep_once = [&](int rank) {
    if (!was_late[static_cast<std::size_t>(rank)].exchange(true))
      kernels::sleep_until_s(kernels::steady_now_s() + kLonger_s);
  };
  std::vector<std::thread> replicas;
  for (const int replica : {0, 1})
    replicas.emplace_back([&, replica] { run({replica, 1}, [](int) { return RankWays{}; }); });
  replicas.emplace_back([&] {
    run({2, 1}, [&](int rank) {
      return RankWays{.when_passed = [&, rank](auto step) {
        if (step == 2) sleep_once(rank);
      }};
    });
  });
  wait_until([&] { return epochs() > 1; });
  server_.wish_stop();
  for (std::thread& replica : replicas) replica.join();
  EXPECT_GT(epochs(), 1u);
  EXPECT_TRUE(lost().empty());
}

}  // namespace
}  // namespace tenax::resilience
