// Two ends agree on texts; whoever changes one is found out.
#include "comm/transport/proven_messages.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "tests/comm/link_error.hpp"
#include "tests/comm/one_job.hpp"

namespace tenax::comm {
namespace {

class TwoProvenEnds : public ::testing::Test {
 protected:
  void SetUp() override {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    sockets[0] = FileDescriptor(pair[0]);
    sockets[1] = FileDescriptor(pair[1]);
    connecting.set_other_nonce(accepting.nonce());
    accepting.set_other_nonce(connecting.nonce());
  }
  ProvenMessages end(bool connects, const ConnectionRequest& means) {
    return {sockets[connects ? 0 : 1].get(), connects ? connecting : accepting, means, "here",
            kernels::Deadline::after_s(0.2)};
  }

  FileDescriptor sockets[2];
  ConnectionRequest request{Identity::random(), Identity::random(), "purpose"};
  Challenge connecting{one_job(), ConnectionEnd::connecting}, accepting{one_job(), ConnectionEnd::accepting};
};

TEST_F(TwoProvenEnds, take_turns) {
  ProvenMessages zero = end(true, request), one = end(false, request);
  zero.send("first");
  EXPECT_EQ(one.receive(), "first");
  one.send("");
  EXPECT_EQ(zero.receive(), "");
  zero.send(std::string(ProvenMessages::kMost, 'x'));
  EXPECT_EQ(one.receive(), std::string(ProvenMessages::kMost, 'x'));
}

TEST_F(TwoProvenEnds, learn_why_the_other_refuses) {
  ProvenMessages zero = end(true, request), one = end(false, request);
  zero.send("first");
  one.receive();
  one.refuse("there is no room");
  EXPECT_NE(error_of([&] { zero.receive(); }).find("here: refused: there is no room"), std::string::npos);
}

TEST_F(TwoProvenEnds, find_every_changed_byte) {
  constexpr std::size_t kBytes = 32 + 4 + 1 + 5;
  for (std::size_t changed = 0; changed < kBytes; ++changed) {
    ProvenMessages zero = end(true, request), one = end(false, request);
    zero.send("first");
    std::vector<char> bytes(kBytes);
    ASSERT_EQ(recv(sockets[1].get(), bytes.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
    bytes[changed] = static_cast<char>(bytes[changed] ^ 1);
    ASSERT_EQ(send(sockets[0].get(), bytes.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
    EXPECT_NE(error_of([&] { one.receive(); }), "no error") << changed;
    while (recv(sockets[1].get(), bytes.data(), kBytes, 0) > 0) {
    }
  }
}

TEST_F(TwoProvenEnds, find_a_repeated_and_a_missing_text) {
  ProvenMessages zero = end(true, request), one = end(false, request);
  zero.send("first");
  std::vector<char> bytes(100);
  const ssize_t count = recv(sockets[1].get(), bytes.data(), bytes.size(), MSG_PEEK);
  one.receive();
  ASSERT_EQ(send(sockets[0].get(), bytes.data(), static_cast<std::size_t>(count), 0), count);
  EXPECT_NE(error_of([&] { one.receive(); }).find("not of this job"), std::string::npos);
}

TEST_F(TwoProvenEnds, mean_the_same_request) {
  ConnectionRequest other = request;
  other.purpose = "another";
  ProvenMessages zero = end(true, request), one = end(false, other);
  zero.send("first");
  EXPECT_NE(error_of([&] { one.receive(); }).find("not of this job"), std::string::npos);
}

TEST_F(TwoProvenEnds, do_not_wait_for_ever) {
  ProvenMessages one = end(false, request);
  EXPECT_NE(error_of([&] { one.receive(); }).find("did not go on"), std::string::npos);
  sockets[0] = FileDescriptor();
  EXPECT_NE(error_of([&] { one.receive(); }), "no error");
}

}  // namespace
}  // namespace tenax::comm
