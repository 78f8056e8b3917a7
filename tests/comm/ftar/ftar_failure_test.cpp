// Replicas that die, stop or disagree while their sums are under way.
#include <atomic>
#include <barrier>
#include <string>

#include "tests/comm/ftar/ftar_ranks.hpp"
#include "tests/comm/transport/meddling_transport.hpp"

namespace tenax::comm {
namespace {

using Cause = FtarFailure::Cause;

/// One replica's values and their sum.
struct Sums {
  static constexpr std::int64_t kElements = 300007;

  explicit Sums(int replica) : values(values_of<float>(replica, kElements)), in(values), out(values.size()) {}
  FtarBucket bucket(std::int64_t step, int number = 0) {
    return {.name = {step, number}, .in = tensor_of(in, DType::f32), .out = tensor_of(out, DType::f32)};
  }
  std::vector<float> values, in, out;
};

FtarOptions options() {
  return {.chunk_bytes = 16384, .chunks_in_flight = 2, .deadline_s = 20, .memory = {}};
}

class FtarFailures : public ::testing::TestWithParam<TransportKind> {
 protected:
  /// These replicas exchange in a new epoch, with what they still have.
  void expect_sums(FtarRanks& replicas, std::int64_t epoch, const std::vector<int>& members,
                   std::vector<Sums>& sums) {
    FtarRanks::run(members, [&](int i) {
      replicas.group(epoch, i, members, options())
          ->start(sums[static_cast<std::size_t>(i)].bucket(0))
          ->wait(soon());
    });
    std::vector<std::vector<float>> values;
    for (const int i : members) values.push_back(sums[static_cast<std::size_t>(i)].values);
    const std::vector<float> expected = sum_of(values, DType::f32, options());
    for (const int i : members) EXPECT_EQ(sums[static_cast<std::size_t>(i)].out, expected);
  }
  std::vector<Sums> sums_of(int replicas) {
    std::vector<Sums> sums;
    for (int i = 0; i < replicas; ++i) sums.emplace_back(i);
    return sums;
  }
};

/// One that had time to say that it ends is no culprit for that.
bool names_no_other_than(int dead, const FtarFailure& failure) {
  return failure.peer == dead || failure.peer == FtarFailure::kNobody;
}

TEST_P(FtarFailures, survivors_name_no_other_than_the_one_that_ends_and_repeat_in_a_new_epoch) {
  constexpr int kRanks = 4, kDead = 2;
  for (const int begun : {0, 1, 3}) {  // buckets that the dead one has begun
    FtarRanks replicas(kRanks, GetParam());
    std::vector<Sums> sums = sums_of(kRanks);
    FtarRanks::run(replicas.all(), [&](int i) {
      auto group = replicas.group(1, i, replicas.all(), options());
      std::vector<Sums> more = {Sums(i), Sums(i), Sums(i)};
      std::vector<TransferPtr> transfers;
      for (int b = 0; b < (i == kDead ? begun : 3); ++b)
        transfers.push_back(group->start(more[static_cast<std::size_t>(b)].bucket(0, b)));
      if (i == kDead) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2 * begun));
        return;  // its group ends before its transfers: they are given up
      }
      int failed = 0;
      for (const TransferPtr& transfer : transfers) try {
          transfer->wait(soon());
        } catch (const FtarError& error) {
          EXPECT_EQ(error.failure().cause, Cause::peer) << error.what();
          EXPECT_TRUE(names_no_other_than(kDead, error.failure())) << error.what();
          EXPECT_EQ(error.scope(), kernels::Scope::link);
          EXPECT_EQ(error.failure().is_cancelled, failed++ > 0);
        }
      EXPECT_TRUE(begun == 3 || failed > 0);
      for (const Sums& mine : more) EXPECT_EQ(mine.in, mine.values);
      if (failed == 0) return;
      const FtarFailure later = complaint_of([&] { group->start(more[0].bucket(1))->wait(soon()); });
      EXPECT_TRUE(later.is_cancelled);
      EXPECT_TRUE(names_no_other_than(kDead, later)) << later.sentence;
    });
    expect_sums(replicas, 2, {0, 1, 3}, sums);
    expect_sums(replicas, 3, {3, 1, 0, 2}, sums);
  }
}

TEST_P(FtarFailures, a_neighbour_that_gives_up_another_one_is_not_blamed) {
  FtarRanks replicas(3, GetParam());
  std::vector<Sums> sums = sums_of(3);
  std::barrier all_have_failed(3);
  FtarRanks::run(replicas.all(), [&](int i) {
    const auto group = replicas.group(1, i, replicas.all(), options());
    Sums& mine = sums[static_cast<std::size_t>(i)];
    group->start(mine.bucket(0))->wait(soon());
    if (i < 2) {
      const TransferPtr transfer = group->start(mine.bucket(1));
      if (i == 0) group->abort();  // it has waited for 2, which does not begin
      const FtarFailure failure = complaint_of([&] { transfer->wait(soon()); });
      EXPECT_EQ(failure.cause, i == 0 ? Cause::aborted : Cause::peer);
      EXPECT_EQ(failure.peer, FtarFailure::kNobody) << failure.sentence;
    }
    all_have_failed.arrive_and_wait();
  });
}

TEST_P(FtarFailures, a_replica_that_was_never_there_is_named_at_once) {
  FtarRanks replicas(3, GetParam());
  FtarRing ring = replicas.ring(1, 0, replicas.all());
  {
    const FtarRanks others(1, GetParam());
    ring.peers[1] = others.ring(1, 0, {0}).peers[0];
  }  // its listener is gone
  const FtarFailure failure = complaint_of([&] {
    FtarGroup group(ring, replicas.transport(0), replicas.device(), options());
    Sums mine(0);
    group.start(mine.bucket(0))->wait(Deadline::after_s(10));
  });
  EXPECT_EQ(failure.cause, Cause::peer) << failure.sentence;
  EXPECT_EQ(failure.peer, 1);
}

TEST_P(FtarFailures, a_frozen_epoch_ends_all_waits_soon) {
  for (const int starters : {0, 2, 3}) {  // with none, they wait for connections of the others
    FtarRanks replicas(3, GetParam());
    std::vector<Sums> sums = sums_of(3);
    std::atomic<std::int64_t> frozen = 0;
    std::atomic<double> frozen_s = 0;
    std::barrier begun(starters == 0 ? 2 : 3);
    const std::vector<int> members = starters == 0 ? std::vector<int>{0, 1} : replicas.all();
    FtarRanks::run(members, [&](int i) {
      FtarOptions own = options();
      own.frozen_epoch = &frozen;
      Sums& mine = sums[static_cast<std::size_t>(i)];
      const auto group = replicas.group(5, i, replicas.all(), own);
      std::vector<TransferPtr> transfers;
      if (i < starters || starters == 0) transfers.push_back(group->start(mine.bucket(0)));
      begun.arrive_and_wait();
      if (starters < 3) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (i == 0) frozen_s = kernels::steady_now_s();
      if (i == 0) frozen = 5;
      for (const TransferPtr& transfer : transfers) try {
          transfer->wait(soon());
          EXPECT_EQ(starters, 3) << "without the third";
        } catch (const FtarError& error) {
          EXPECT_TRUE(error.failure().cause == Cause::aborted || error.failure().cause == Cause::peer)
              << error.what();
          // A peer that has nothing to wait for may leave before the word comes.
          if (const double since_s = frozen_s; since_s > 0) {
            EXPECT_LT(kernels::steady_now_s() - since_s, 2) << "10 ms on an idle machine";
          }
        }
      EXPECT_EQ(mine.in, mine.values);
    });
    expect_sums(replicas, 6, replicas.all(), sums);
  }
}

TEST_P(FtarFailures, abort_and_cancel_return_when_nothing_is_written_any_more) {
  FtarRanks replicas(2, GetParam());
  for (std::int64_t epoch = 1; epoch <= 20; ++epoch) {
    std::vector<Sums> sums = sums_of(2);
    FtarRanks::run(replicas.all(), [&](int i) {
      Sums& mine = sums[static_cast<std::size_t>(i)];
      const auto group = replicas.group(epoch, i, replicas.all(), options());
      const TransferPtr transfer = group->start(mine.bucket(0));
      std::this_thread::sleep_for(std::chrono::microseconds(100 * epoch));
      if (epoch % 2 == 0)
        group->abort();
      else
        transfer->cancel(soon());
      std::fill(mine.out.begin(), mine.out.end(), 7.0F);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_TRUE(std::all_of(mine.out.begin(), mine.out.end(), [](float value) { return value == 7.0F; }));
      EXPECT_EQ(mine.in, mine.values);
    });
  }
}

TEST_P(FtarFailures, a_replica_of_an_older_epoch_is_left_alone) {
  FtarRanks replicas(3, GetParam());
  std::vector<Sums> sums = sums_of(3);
  FtarOptions impatient = options();
  impatient.deadline_s = 0.3;
  const auto old = replicas.group(1, 2, replicas.all(), impatient);
  const TransferPtr transfer = old->start(sums[2].bucket(0));
  expect_sums(replicas, 2, {0, 1}, sums);
  const FtarFailure failure = complaint_of([&] { transfer->wait(soon()); });
  EXPECT_EQ(failure.cause, Cause::timeout) << failure.sentence;
}

TEST_P(FtarFailures, a_replica_that_does_not_begin_is_named_when_the_deadline_comes) {
  FtarRanks replicas(2, GetParam());
  FtarOptions impatient = options();
  impatient.deadline_s = 0.3;
  const auto silent = replicas.group(1, 1, replicas.all(), options());
  const auto group = replicas.group(1, 0, replicas.all(), impatient);
  Sums mine(0);
  const TransferPtr transfer = group->start(mine.bucket(0));
  EXPECT_THROW(transfer->wait(Deadline::after_s(0.05)), kernels::Error) << "the caller's own deadline";
  EXPECT_FALSE(transfer->done());
  const FtarFailure failure = complaint_of([&] { transfer->wait(soon()); });
  EXPECT_EQ(failure.cause, Cause::timeout);
  EXPECT_EQ(failure.peer, 1) << failure.sentence;
}

TEST_P(FtarFailures, replicas_that_disagree_about_a_bucket_are_told_so) {
  FtarRanks replicas(2, GetParam());
  std::atomic<int> fatal = 0;
  FtarRanks::run(replicas.all(), [&](int i) {
    FtarOptions own = options();
    if (i == 1) own.chunk_bytes *= 2;
    Sums mine(i);
    const auto group = replicas.group(1, i, replicas.all(), own);
    const FtarFailure failure = complaint_of([&] { group->start(mine.bucket(0))->wait(soon()); });
    if (!failure.is_recoverable()) ++fatal;
  });
  EXPECT_GE(fatal, 1);
}

// Epochs may pass faster than a slow replica enters them: what it has not accepted of them must not keep the next out.
TEST_P(FtarFailures, a_dozen_change_epochs_faster_than_one_of_them_accepts) {
  constexpr int kRanks = 12, kSlow = 5;
  constexpr std::int64_t kEpochs = 40;  // more than a transport holds connections for
  FtarRanks replicas(kRanks, GetParam());
  std::vector<int> quick = replicas.all();
  quick.erase(quick.begin() + kSlow);
  for (std::int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    std::vector<std::unique_ptr<FtarGroup>> groups(kRanks);
    FtarRanks::run(quick, [&](int i) {
      groups[static_cast<std::size_t>(i)] = replicas.group(epoch, i, replicas.all(), options());
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // they connect, and are given up
  }
  const double began_s = kernels::steady_now_s();
  std::vector<Sums> sums = sums_of(kRanks);
  expect_sums(replicas, kEpochs + 1, replicas.all(), sums);
  EXPECT_LT(kernels::steady_now_s() - began_s, 3) << "the last epoch waited for connections of the first";
}

TEST_P(FtarFailures, a_neighbour_that_gives_no_sign_of_life_is_given_up_before_the_deadline) {
  FtarRanks replicas(2, GetParam());
  FtarOptions watchful = options();
  watchful.alive_s = 0.05;
  watchful.dead_s = 0.5;
  Sums mine(0);
  std::atomic<bool> is_over{false};
  FtarRanks::run(replicas.all(), [&](int i) {
    if (i == 1) {  // it is connected, and then nothing comes from it
      const FtarRing ring = replicas.ring(1, 1, replicas.all());
      const RingConnector connector(ring, replicas.transport(1), is_over);
      const auto to_after = connector.connect_after(0, soon()).get(),
                 of_before = connector.accept_before(0, soon()).get();
      while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return;
    }
    auto group = replicas.group(1, 0, replicas.all(), watchful);
    const auto transfer = group->start(mine.bucket(0));
    try {
      transfer->wait(Deadline::after_s(10));
      ADD_FAILURE() << "it was not given up";
    } catch (const FtarError& error) {
      EXPECT_EQ(error.failure().cause, Cause::timeout) << error.what();
      EXPECT_EQ(error.failure().peer, 1);
      EXPECT_TRUE(error.failure().is_recoverable());
    }
    is_over = true;
  });
}

TEST_P(FtarFailures, a_neighbour_that_lives_may_take_its_time) {
  FtarRanks replicas(3, GetParam());
  FtarOptions watchful = options();
  watchful.deadline_s = 0.6;
  watchful.longest_s = 20;
  watchful.alive_s = 0.05;
  watchful.dead_s = 0.5;
  std::vector<Sums> sums = sums_of(3);
  FtarRanks::run(replicas.all(), [&](int i) {
    auto group = replicas.group(1, i, replicas.all(), watchful);
    if (i == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    group->start(sums[static_cast<std::size_t>(i)].bucket(0))->wait(soon());
  });
}

// Its transport answers before it does, and the others have something to exchange all the while.
TEST_P(FtarFailures, a_replica_may_enter_an_epoch_later_than_another_would_be_given_up) {
  for (const int late : {2, 0}) {
    FtarRanks replicas(3, GetParam());
    FtarOptions watchful = options();
    watchful.connections = 2;
    watchful.longest_s = 20;
    watchful.alive_s = 0.05;
    watchful.dead_s = 1;
    std::vector<Sums> sums = sums_of(3);
    FtarRanks::run(replicas.all(), [&](int i) {
      if (i == late) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
      auto group = replicas.group(1, i, replicas.all(), watchful);
      group->start(sums[static_cast<std::size_t>(i)].bucket(0))->wait(soon());
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, FtarFailures,
                         ::testing::Values(TransportKind::tcp, TransportKind::shared_memory),
                         [](const auto& way) {
                           return way.param == TransportKind::tcp ? "tcp" : "shared_memory";
                         });

TEST(FtarFailure, of_one_connection_ends_the_exchange_without_a_word) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    FtarRanks replicas(3);
    std::vector<std::unique_ptr<MeddlingTransport>> transports;
    for (int i = 0; i < 3; ++i)
      transports.push_back(std::make_unique<MeddlingTransport>(create_transport(
          {.kind = TransportKind::tcp, .interfaces = {"lo"}, .deadline_s = 20, .secret = one_job()})));
    std::vector<Peer> peers;
    for (int i = 0; i < 3; ++i)
      peers.push_back(
          {i, "replica " + std::to_string(i), transports[static_cast<std::size_t>(i)]->addresses()});
    std::atomic<int> failures = 0;
    FtarRanks::run(replicas.all(), [&](int i) {
      MeddlingTransport& transport = *transports[static_cast<std::size_t>(i)];
      FtarGroup group({.epoch = 1, .rank = 0, .index = i, .peers = peers}, transport, replicas.device(),
                      options());
      Sums mine(i);
      std::mt19937 random(seed);
      for (std::int64_t step = 0; failures == 0 && step < 1000; ++step) try {
          group.start(mine.bucket(step))->wait(soon());
          if (i == static_cast<int>(seed % 3) && step == 3) transport.break_one(random);
        } catch (const FtarError& error) {
          EXPECT_EQ(error.failure().cause, Cause::peer) << error.what();
          EXPECT_EQ(mine.in, mine.values);
          ++failures;
          return;
        }
    });
    EXPECT_GE(failures, 1);
  }
}

}  // namespace
}  // namespace tenax::comm
