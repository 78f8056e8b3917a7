// What two ends say to each other before a connection carries anything, without sockets.
#include "comm/transport/handshake.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace tenax::comm {
namespace {

class Handshakes : public ::testing::Test {
 protected:
  /// What each end said, in turn.
  struct Talk {
    std::vector<Handshake::Message> connecting, accepting;
  };
  static void talk(Handshake& connecting, Handshake& accepting, Talk* heard = nullptr) {
    Handshake::Message said = connecting.start();
    for (bool turn = true; !said.empty(); turn = !turn) {
      if (heard) (turn ? heard->connecting : heard->accepting).push_back(said);
      Handshake& other = turn ? accepting : connecting;
      if (other.is_over()) return;
      said = other.take(said);
    }
  }
  Handshake caller() const { return {secret, request}; }
  Handshake called() const { return {secret, me}; }

  JobSecret secret = JobSecret::draw();
  Identity me = Identity::random();
  ConnectionRequest request{me, Identity::random(), "pipeline/0.1"};
};

TEST_F(Handshakes, prove_both_ends_and_tell_the_accepting_one_who_calls_for_what) {
  Handshake connecting = caller(), accepting = called();
  talk(connecting, accepting);
  EXPECT_TRUE(connecting.is_proven());
  ASSERT_TRUE(accepting.is_proven());
  EXPECT_EQ(accepting.request(), request);
}

TEST_F(Handshakes, of_processes_with_different_secrets_prove_nothing) {
  Handshake connecting(JobSecret::draw(), request), accepting = called();
  talk(connecting, accepting);
  EXPECT_TRUE(connecting.is_over() && accepting.is_over());
  EXPECT_FALSE(connecting.is_proven() || accepting.is_proven());
}

TEST_F(Handshakes, that_reach_another_rank_of_the_job_prove_nothing) {
  Handshake connecting = caller(), accepting(secret, Identity::random());
  talk(connecting, accepting);
  EXPECT_FALSE(connecting.is_proven() || accepting.is_proven());
}

TEST_F(Handshakes, that_were_heard_are_no_good_again) {
  Talk heard;
  Handshake connecting = caller(), accepting = called();
  talk(connecting, accepting, &heard);
  Handshake again = called();
  for (const auto& message : heard.connecting) again.take(message);
  EXPECT_TRUE(again.is_over());
  EXPECT_FALSE(again.is_proven());
  Handshake fooled = caller();
  for (const auto& message : heard.accepting) fooled.take(message);
  EXPECT_TRUE(fooled.is_over());
  EXPECT_FALSE(fooled.is_proven());
}

TEST_F(Handshakes, cannot_be_sent_back_to_who_said_them) {
  Handshake connecting = caller();
  const Handshake::Message claim = connecting.take(connecting.start());
  connecting.take(std::span(claim).first(Challenge::kBytes));
  EXPECT_FALSE(connecting.is_proven());
}

TEST_F(Handshakes, tell_an_eavesdropper_nothing_of_the_request) {
  Talk heard;
  Handshake connecting = caller(), accepting = called();
  talk(connecting, accepting, &heard);
  const ConnectionRequest::Bytes bytes = request.bytes();
  for (const auto& message : heard.connecting)
    for (const std::size_t part : {0, 8, 24})
      EXPECT_EQ(std::search(message.begin(), message.end(), bytes.begin() + part, bytes.begin() + part + 8),
                message.end());
}

TEST_F(Handshakes, are_refused_for_any_changed_byte) {
  for (std::size_t at = 0; at < Handshake::kMostBytes; ++at) {
    Handshake connecting = caller(), accepting = called();
    Handshake::Message claim = connecting.take(accepting.take(connecting.start()));
    ASSERT_EQ(claim.size(), Handshake::kMostBytes);
    claim[at] ^= std::byte{1};
    connecting.take(accepting.take(claim));
    ASSERT_FALSE(connecting.is_proven() || accepting.is_proven()) << at;
  }
}

TEST_F(Handshakes, with_whoever_speaks_another_language_end_at_once) {
  Handshake accepting = called();
  EXPECT_TRUE(accepting.take(Handshake::Message(accepting.expected_bytes(), std::byte{'G'})).empty());
  EXPECT_TRUE(accepting.is_over());
  EXPECT_FALSE(accepting.is_proven());
}

TEST_F(Handshakes, use_no_nonce_twice) { EXPECT_NE(caller().start(), caller().start()); }

TEST(ConnectionRequests, read_back_as_they_were_and_refuse_what_none_says) {
  const ConnectionRequest request{Identity::random(), Identity::random(),
                                  std::string(ConnectionRequest::kMostPurpose, 'x')};
  ConnectionRequest::Bytes bytes = request.bytes();
  EXPECT_EQ(ConnectionRequest::parse(bytes), request);
  bytes[16] = static_cast<std::byte>(ConnectionRequest::kMostPurpose + 1);
  EXPECT_FALSE(ConnectionRequest::parse(bytes)) << "a purpose that is too long";
  bytes[16] = std::byte{1};
  EXPECT_FALSE(ConnectionRequest::parse(bytes)) << "something behind the purpose";
  bytes[23] = std::byte{0xff};
  EXPECT_FALSE(ConnectionRequest::parse(bytes));
}

}  // namespace
}  // namespace tenax::comm
