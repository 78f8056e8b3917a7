#include "comm/delegates/watched_transport.hpp"

#include <deque>

#include "comm/delegates/channel_observer.hpp"
#include "tests/comm/transport/connection_checks.hpp"

namespace tenax::comm {
namespace {

/// A connection that does what a test says.
struct Line {
  std::string way;
  bool is_broken = false;
  std::string reason = {};
  MessageKind sends = MessageKind::data;
};

class LineConnection final : public Connection {
 public:
  explicit LineConnection(Line& line) : line_(line) {}
  void send(const MessageHeader&, std::span<const std::byte>, Deadline) override { check(); }
  std::optional<MessageHeader> receive(Deadline) override {
    check();
    MessageHeader header;
    header.kind = static_cast<std::int32_t>(line_.sends);
    return header;
  }
  void receive_payload(std::span<std::byte>, Deadline) override { check(); }
  void check() const override {
    if (line_.is_broken) throw kernels::Error(kernels::Scope::link, "broken");
  }
  void shut_down() noexcept override {}
  const std::string& address() const override { return line_.way; }
  std::string describe() const override { return line_.way; }
  std::string break_reason() const override { return line_.reason; }

 private:
  Line& line_;
};

/// Gives one line after the other.
class LineTransport final : public Transport {
 public:
  explicit LineTransport(std::deque<Line>& lines) : lines_(lines) {}
  std::vector<std::string> addresses() const override { return {}; }
  std::unique_ptr<Connection> connect(const Peer&, const std::string&, const std::string&,
                                      Deadline) override {
    return std::make_unique<LineConnection>(lines_.at(next_++));
  }
  std::unique_ptr<Connection> accept(const Peer&, const std::string&, Deadline) override { return nullptr; }

 private:
  std::deque<Line>& lines_;
  std::size_t next_ = 0;
};

class WatchedTransportTest : public ::testing::Test {
 protected:
  std::unique_ptr<Connection> connect(const std::string& purpose = "link/0") {
    return transport_.connect({.rank = 3, .name = "rank 3", .addresses = {}}, "", purpose,
                              Deadline::after_s(1));
  }
  static void send(Connection& connection, std::uint64_t sequence) {
    MessageHeader header;
    header.kind = static_cast<std::int32_t>(MessageKind::data);
    header.sequence = sequence;
    connection.send(header, {}, Deadline::after_s(1));
  }
  static void receive(Connection& connection) { connection.receive(Deadline::after_s(1)); }
  void break_line(Line& line, Connection& connection, const std::string& reason) {
    line.is_broken = true;
    line.reason = reason;
    EXPECT_NE(error_of([&] { receive(connection); }), "no error");
  }

  std::deque<Line> lines_{{"verbs a - b"}, {"tcp"}, {"verbs a - b"}, {"shm"}};
  std::vector<Reroute> told_;
  WatchedTransport transport_{std::make_unique<LineTransport>(lines_),
                              [this](const Reroute& reroute) { told_.push_back(reroute); }};
};

TEST_F(WatchedTransportTest, tells_which_way_broke_and_where_it_goes_on) {
  auto first = connect();
  for (const std::uint64_t sequence : {0U, 1U, 2U}) send(*first, sequence);
  break_line(lines_[0], *first, "port_down");
  auto second = connect();
  second->note_delivered(1);
  for (const std::uint64_t sequence : {1U, 2U, 3U}) send(*second, sequence);
  second->note_delivered(2);
  EXPECT_TRUE(told_.empty()) << "the last one that was sent before has not arrived yet";
  second->note_delivered(4);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].peer, 3);
  EXPECT_EQ(told_[0].from, "verbs a - b");
  EXPECT_EQ(told_[0].to, "tcp");
  EXPECT_EQ(told_[0].reason, "port_down");
  EXPECT_EQ(told_[0].resent, 2U);
  second->note_delivered(5);
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(WatchedTransportTest, tells_where_messages_come_from_as_soon_as_one_does) {
  auto first = connect();
  break_line(lines_[0], *first, "port_down");
  auto second = connect();
  EXPECT_TRUE(told_.empty()) << "nothing has come yet";
  receive(*second);
  receive(*second);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].resent, 0U);
}

// Acknowledgements are of all connections of a link, and come on any.
TEST_F(WatchedTransportTest, takes_acknowledgements_for_what_they_say_alone) {
  auto first = connect();
  send(*first, 0);
  break_line(lines_[0], *first, "port_down");
  auto second = connect();
  lines_[1].sends = MessageKind::acknowledgement;
  receive(*second);
  first->note_delivered(1);
  EXPECT_TRUE(told_.empty()) << "the message has not arrived; the first connection has nothing to say";
  second->note_delivered(1);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].resent, 0U) << "it had arrived before";
}

TEST_F(WatchedTransportTest, tells_at_once_where_everything_had_arrived) {
  auto first = connect();
  send(*first, 0);
  first->note_delivered(1);
  break_line(lines_[0], *first, "port_down");
  auto second = connect();
  second->note_delivered(1);
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(WatchedTransportTest, calls_a_change_healed_where_nothing_had_broken) {
  auto first = connect();
  auto second = connect();
  first->shut_down();
  receive(*second);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].reason, "healed");
}

TEST_F(WatchedTransportTest, tells_the_first_and_the_last_of_several_ways) {
  auto first = connect();
  break_line(lines_[0], *first, "no_answer");
  auto second = connect();
  break_line(lines_[1], *second, "");
  auto third = connect();
  receive(*third);
  EXPECT_TRUE(told_.empty()) << "it is the first way again";
  break_line(lines_[2], *third, "");
  auto fourth = connect();
  receive(*fourth);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].to, "shm");
  EXPECT_EQ(told_[0].reason, "peer_gone") << "what is known where the connection says nothing";
}

TEST_F(WatchedTransportTest, tells_nothing_of_what_was_closed_or_is_for_something_else) {
  auto first = connect();
  first->shut_down();
  first.reset();
  auto second = connect();
  receive(*second);
  auto third = connect("link/1");
  receive(*third);
  EXPECT_TRUE(told_.empty());
}

}  // namespace
}  // namespace tenax::comm
