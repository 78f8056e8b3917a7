#include "comm/verbs/path_book.hpp"

#include <gtest/gtest.h>

#include "comm/verbs/device.hpp"
#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm::verbs {
namespace {

using Notices = std::vector<PeerNotice>;

/// A connection that remembers what it is told.
class FakeUser final : public PathUser {
 public:
  FakeUser(PathBook& book, Path path, PathSeat seat)
      : book_(book), path_(std::move(path)), seat_(std::move(seat)) {
    book_.add(*this);
  }
  ~FakeUser() override { book_.remove(*this); }
  const Path& path() const override { return path_; }
  const PathSeat& seat() const override { return seat_; }
  bool demands_better() const override { return demands; }
  void leave(BreakReason reason) noexcept override { left = reason; }
  void tell(const PeerNotice& notice) noexcept override { told.push_back(notice); }

  std::optional<BreakReason> left;
  bool demands = false;
  Notices told;

 private:
  PathBook& book_;
  const Path path_;
  const PathSeat seat_;
};

/// Two ports at each end, and the books of both.
class PathBookTest : public ::testing::Test {
 protected:
  PathBookTest() {
    host.add_device("a", {fake_verbs::FakePort{}, fake_verbs::FakePort{}});
    host.add_device("b", {fake_verbs::FakePort{}, fake_verbs::FakePort{}});
  }
  static std::vector<PortAddress> ports_of(const std::string& device, std::vector<int> numbers = {1, 2}) {
    std::vector<PortAddress> ports;
    for (const int number : numbers) ports.emplace_back(fake_port(Device::open(device), number));
    return ports;
  }
  /// What both ends do when a connection is made.
  std::optional<Path> handshake(std::size_t turn = 0, std::vector<int> connecting_ports = {1, 2}) {
    const PathClaims mine = connecting.claims(accepting_end, ports_of("a", connecting_ports));
    const auto present = connecting.present(accepting_end, "links/0");
    const PathClaims theirs = accepting.claims(connecting_end, ports_of("b"));
    accepting.learn(connecting_end, theirs, mine);
    const auto pair = accepting.choose(connecting_end, mine, theirs, turn, present);
    connecting.learn(accepting_end, mine, theirs);
    if (!pair) return std::nullopt;
    return Path{mine.ports[pair->connecting].name, theirs.ports[pair->accepting].name};
  }
  PathSeat seat(std::size_t turn = 0) const {
    return {accepting_end, ConnectionEnd::connecting, "links/0", turn};
  }

  fake_verbs::Host host;
  const Identity accepting_end = Identity::random(), connecting_end = Identity::random();
  PathBook connecting{false}, accepting{false};
  const Path first{"a:1", "b:1"}, second{"a:2", "b:2"};
};

TEST_F(PathBookTest, gives_each_turn_another_pair_as_long_as_all_work) {
  EXPECT_EQ(handshake(0), first);
  EXPECT_EQ(handshake(1), second);
}

TEST_F(PathBookTest, leaves_alone_what_either_end_has_seen_fail) {
  handshake();
  connecting.broke(accepting_end, first, BreakReason::no_answer);
  EXPECT_EQ(handshake(), second) << "the connecting end has said so";
  accepting.broke(connecting_end, {"b:2", "a:2"}, BreakReason::no_answer);
  const auto third = handshake();
  ASSERT_TRUE(third);
  EXPECT_NE(*third, first);
  EXPECT_NE(*third, second);
}

TEST_F(PathBookTest, has_none_where_all_have_failed_a_moment_ago) {
  handshake();
  for (const char* mine : {"a:1", "a:2"})
    for (const char* theirs : {"b:1", "b:2"})
      connecting.broke(accepting_end, {mine, theirs}, BreakReason::no_answer);
  EXPECT_EQ(handshake(), std::nullopt);
}

TEST_F(PathBookTest, leaves_a_port_at_once_when_it_goes_down_and_another_works) {
  handshake();
  FakeUser user(connecting, first, seat()), other(connecting, second, seat(1));
  connecting.port_changed("a:1", BreakReason::device_lost);
  EXPECT_EQ(user.left, BreakReason::device_lost);
  EXPECT_FALSE(other.left);
  ASSERT_EQ(other.told.size(), 1U) << "each other end hears of it";
  EXPECT_EQ(other.told[0].kind, PeerNotice::Kind::port_down);
  EXPECT_EQ(other.told[0].port, "a:1");
}

TEST_F(PathBookTest, stays_on_the_only_path_unless_there_are_other_ways) {
  for (const bool has_other_ways : {false, true}) {
    PathBook book(has_other_ways);
    book.learn(accepting_end, {ports_of("a", {1}), {}}, {ports_of("b", {1}), {}});
    FakeUser user(book, first, seat());
    book.port_changed("a:1", BreakReason::port_down);
    EXPECT_EQ(user.left.has_value(), has_other_ways);
  }
}

TEST_F(PathBookTest, believes_the_other_end_about_its_ports) {
  handshake();
  FakeUser user(connecting, first, seat());
  connecting.heard(user, {.kind = PeerNotice::Kind::port_down, .port = "b:1"});
  EXPECT_EQ(user.left, BreakReason::peer_port_down);
  FakeUser late(connecting, first, seat());
  EXPECT_EQ(late.left, BreakReason::peer_port_down) << "also what was under way when it was told";
  connecting.heard(user, {.kind = PeerNotice::Kind::port_up, .port = "b:1"});
  FakeUser next(connecting, first, seat());
  EXPECT_FALSE(next.left);
}

// A connection that only receives hears nothing over a path that is broken at its other end.
TEST_F(PathBookTest, leaves_what_the_other_end_says_when_another_connection_is_made) {
  handshake();
  FakeUser user(connecting, first, seat()), other(connecting, second, seat(1));
  connecting.learn(accepting_end, {ports_of("a"), {}}, {ports_of("b", {2}), {}});
  EXPECT_EQ(user.left, BreakReason::peer_port_down);
  EXPECT_FALSE(other.left);
}

TEST_F(PathBookTest, knows_a_better_way_back_when_the_port_is_up_again) {
  handshake();
  FakeUser home(connecting, first, seat());
  EXPECT_EQ(connecting.better_way(home), BetterWay::none);
  connecting.port_changed("a:1", BreakReason::port_down);
  FakeUser away(connecting, second, seat());
  EXPECT_EQ(connecting.better_way(away), BetterWay::later);
  connecting.port_changed("a:1", std::nullopt);
  EXPECT_EQ(connecting.better_way(away), BetterWay::now);
  away.demands = true;
  EXPECT_EQ(handshake(), first) << "and asks for it";
}

// Nobody tells the other end when the rest is over.
TEST_F(PathBookTest, knows_that_a_port_which_rests_comes_back) {
  handshake();
  for (int flap = 0; flap < 2; ++flap) {
    accepting.port_changed("b:1", BreakReason::port_down);
    accepting.port_changed("b:1", std::nullopt);
  }
  EXPECT_EQ(handshake(), second);
  FakeUser away(connecting, second, seat());
  EXPECT_EQ(connecting.better_way(away), BetterWay::later);
  EXPECT_FALSE(connecting.is_down(accepting_end, first));
  const Deadline latest = Deadline::after_s(20);
  while (connecting.better_way(away) != BetterWay::now && !latest.expired())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(connecting.better_way(away), BetterWay::now);
  EXPECT_EQ(handshake(), first);
}

TEST_F(PathBookTest, refuses_to_replace_a_path_by_one_that_is_no_better) {
  handshake();
  FakeUser home(connecting, first, seat());
  EXPECT_EQ(handshake(), first) << "a second one may be wanted";
  home.demands = true;
  EXPECT_EQ(handshake(), std::nullopt);
}

TEST_F(PathBookTest, remembers_ports_that_a_peer_does_not_offer_any_more) {
  handshake();
  EXPECT_EQ(handshake(0, {2}), second);
  EXPECT_EQ(handshake(0, {1, 2}), first);
}

TEST_F(PathBookTest, reports_ports_that_carry_nothing_where_somebody_watches_them) {
  std::vector<std::string> reported;
  PathBook book(false, [&](const std::string& port) { reported.push_back(port); });
  book.broke(accepting_end, first, BreakReason::port_down);
  book.broke(accepting_end, first, BreakReason::no_answer);
  EXPECT_EQ(reported, std::vector<std::string>{"a:1"});
}

TEST_F(PathBookTest, tells_the_newest_failures_and_how_many_more_there_are) {
  PathBook book(false);
  EXPECT_EQ(book.failures_text(accepting_end), "");
  const auto path = [](int number) { return Path{"a:" + std::to_string(number), "b:1"}; };
  for (int i = 0; i <= 20; ++i) book.remember(accepting_end, path(i), "number " + std::to_string(i));
  book.remember(accepting_end, path(4), "again");
  book.passed(accepting_end, path(20));
  const std::string text = book.failures_text(accepting_end);
  const std::size_t newest = text.find("saw: again (0 s ago)"), oldest = text.find("saw: number 18 (");
  EXPECT_LT(newest, oldest) << text;
  EXPECT_NE(oldest, std::string::npos) << text;
  EXPECT_EQ(text.find("number 17"), std::string::npos) << text;
  EXPECT_NE(text.find("; and 17 more paths failed"), std::string::npos) << text;
}

TEST(PeerNotice, means_after_the_way_what_it_meant_before) {
  const PeerNotice notice{.kind = PeerNotice::Kind::broken,
                          .count = 7,
                          .port = std::string(PeerNotice::kMostPort, 'p'),
                          .reason = BreakReason::own_fault};
  const auto come = PeerNotice::parse(notice.bytes());
  ASSERT_TRUE(come);
  EXPECT_EQ(come->bytes(), notice.bytes());
  for (const std::size_t at : {0U, 1U, 4U}) {
    PeerNotice::Bytes bytes = notice.bytes();
    bytes[at] = std::byte{200};
    EXPECT_FALSE(PeerNotice::parse(bytes)) << at;
  }
  PeerNotice::Bytes endless = notice.bytes();
  std::fill(endless.begin() + 16, endless.end(), std::byte{'p'});
  EXPECT_FALSE(PeerNotice::parse(endless));
}

}  // namespace
}  // namespace tenax::comm::verbs
