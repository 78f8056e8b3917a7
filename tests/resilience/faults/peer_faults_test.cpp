// Links between replicas that are dark or slow, and faults that come once in a run.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <thread>

#include "comm/poll.hpp"
#include "comm/polled_stream.hpp"
#include "comm/transport/transports.hpp"
#include "resilience/faults/replica_fault_injector.hpp"
#include "tests/comm/one_job.hpp"

namespace tenax::resilience {
namespace {

using comm::Stopwatch;
using kernels::Deadline;

constexpr double kDark_s = 0.3;
const std::string kPurpose = "state.1";

Deadline soon() { return Deadline::after_s(20); }

/// A rank of replica 0 and its like of replica 1; what the deck injects concerns replica 0 alone.
class PeerLinks : public ::testing::Test {
 protected:
  void inject(const std::vector<ReplicaFaultRequest>& requests, std::vector<LinkFault> delays = {}) {
    injector_ = std::make_unique<ReplicaFaultInjector>(requests, std::move(delays),
                                                       FaultSeat{.replica = 0, .rank = 0, .directory = {}});
    here_ = injector_->wrap(create());
    there_ = create();
  }
  void connect() {
    const comm::Peer peer{0, "replica 1", there_->addresses(), 1},
        back{0, "replica 0", here_->addresses(), 0};
    connection_ = here_->connect(peer, peer.addresses.front(), kPurpose, soon());
    other_ = there_->accept(back, kPurpose, soon());
  }
  void begin_step(std::int64_t step) { injector_->reach(StepPoint::passes, step); }
  static std::unique_ptr<comm::Transport> create() {
    return comm::create_transport({.kind = comm::TransportKind::tcp,
                                   .interfaces = {"lo"},
                                   .deadline_s = 20,
                                   .secret = comm::one_job()});
  }
  static ReplicaFaultRequest dark(int peer) {
    return {.entry = 0,
            .window = {.from_step = 3, .to_step = 4},
            .repeats = true,
            .what = ReplicaFaultRequest::Dark{.replica = 0, .peer = peer, .seconds = kDark_s}};
  }

  std::unique_ptr<ReplicaFaultInjector> injector_;
  std::unique_ptr<comm::Transport> here_, there_;
  std::unique_ptr<comm::Connection> connection_, other_;
};

TEST_F(PeerLinks, are_dark_for_their_time_then_all_that_was_sent_arrives) {
  inject({dark(1)});
  connect();
  begin_step(3);
  const Stopwatch stopwatch;
  other_->send({.kind = 7}, {}, soon());
  EXPECT_FALSE(connection_->receive(Deadline::after_s(kDark_s / 4)));
  const auto header = connection_->receive(soon());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->kind, 7);
  EXPECT_GE(stopwatch.elapsed_s(), kDark_s * 0.9);
}

TEST_F(PeerLinks, that_are_dark_do_not_even_show_that_the_other_end_has_gone) {
  inject({dark(1)});
  connect();
  begin_step(3);
  other_.reset();
  EXPECT_FALSE(connection_->receive(Deadline::after_s(kDark_s / 4)));
  EXPECT_THROW(connection_->receive(soon()), kernels::Error);
}

TEST_F(PeerLinks, are_dark_to_nobody_else_and_at_no_other_time) {
  inject({dark(2), dark(PeerFaults::kService)});
  connect();
  begin_step(3);
  other_->send({.kind = 7}, {}, soon());
  EXPECT_TRUE(connection_->receive(Deadline::after_s(kDark_s)));
}

TEST_F(PeerLinks, are_light_before_the_seconds_of_a_partition_have_come) {
  ReplicaFaultRequest late = dark(1);
  late.window.from_s = 1000;
  inject({late});
  connect();
  begin_step(3);
  other_->send({.kind = 7}, {}, soon());
  EXPECT_TRUE(connection_->receive(Deadline::after_s(kDark_s)));
}

TEST_F(PeerLinks, in_the_dark_cannot_be_made_before_the_deadline) {
  inject({dark(1)});
  begin_step(3);
  const comm::Peer peer{0, "replica 1", there_->addresses(), 1};
  EXPECT_THROW(here_->connect(peer, peer.addresses.front(), kPurpose, Deadline::after_s(0.02)),
               kernels::Error);
  EXPECT_NO_THROW(here_->connect(peer, peer.addresses.front(), kPurpose, soon()));
}

class SlowPeerStream : public PeerLinks {
 protected:
  static constexpr double kDelay_s = 0.05;
  void SetUp() override {
    LinkFault slow;
    slow.links = {{0, 1}};
    slow.delay_s = kDelay_s;
    inject({}, {slow});
    connect();
    begin_step(0);
  }
  comm::PolledStream& stream() { return *connection_->stream(); }
  void write(std::span<const std::byte> bytes) {
    while (stream().write_some(bytes, {}) == 0) EXPECT_GT(stream().held_until_s(), 0);
  }
  const std::array<std::byte, 100> chunk_{};
};

TEST_F(SlowPeerStream, delays_each_chunk) {
  const Stopwatch stopwatch;
  for (int i = 0; i < 3; ++i) write(chunk_);
  EXPECT_GE(stopwatch.elapsed_s(), 3 * kDelay_s);
  EXPECT_FALSE(stream().carries_descriptors());
}

// A sign of life goes before a chunk that is held (FtarStream).
TEST_F(SlowPeerStream, delays_each_chunk_also_where_something_else_goes_before_it) {
  const std::array<std::byte, 48> alive{};
  const Stopwatch stopwatch;
  EXPECT_EQ(stream().write_some(chunk_, {}), 0U);
  write(alive);
  for (int i = 0; i < 3; ++i) write(chunk_);
  EXPECT_GE(stopwatch.elapsed_s(), 3 * kDelay_s);
}

TEST(FaultOccasion, comes_once_in_its_steps_however_many_incarnations_ask) {
  const auto marker = std::filesystem::temp_directory_path() / ("fault_occasion." + std::to_string(getpid()));
  std::filesystem::remove(marker);
  const FaultWindow window{.from_step = 5, .to_step = 7, .to_s = 100};
  const FaultOccasion first(window, marker), later(window, marker), each(window, {});
  EXPECT_FALSE(first.comes(4, 0));
  EXPECT_TRUE(first.comes(6, 0));
  EXPECT_FALSE(first.comes(6, 0));
  EXPECT_FALSE(later.comes(5, 0));
  EXPECT_FALSE(each.comes(7, 0));
  EXPECT_FALSE(each.comes(6, 101));
  EXPECT_TRUE(each.comes(5, 0) && each.comes(6, 99));
  std::filesystem::remove(marker);
}

}  // namespace
}  // namespace tenax::resilience
