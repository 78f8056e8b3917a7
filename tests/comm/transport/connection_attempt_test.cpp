#include "comm/transport/connection_attempt.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/comm/link_error.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;

/// Nobody answers: it remembers who was asked, and for how long.
class DeafTransport final : public Transport {
 public:
  explicit DeafTransport(std::function<void()> on_connect) : on_connect_(std::move(on_connect)) {}

  std::vector<std::string> addresses() const override { return {}; }
  std::unique_ptr<Connection> connect(const Peer&, const std::string& address, const std::string&,
                                      Deadline deadline) override {
    const std::chrono::duration<double> left = deadline.when() - Deadline::Clock::now();
    asked.push_back({address, left.count()});
    on_connect_();
    throw kernels::Error(kernels::Scope::link, "refused");
  }
  std::unique_ptr<Connection> accept(const Peer&, const std::string&, Deadline) override {
    throw kernels::Error(kernels::Scope::link, "nobody comes");
  }

  std::vector<std::pair<std::string, double>> asked;

 private:
  const std::function<void()> on_connect_;
};

const Peer kPeer{1, "rank 1", {"verbs:first", "verbs:second", "tcp:third"}};

class Attempts : public ::testing::Test {
 protected:
  std::string error_of_attempt(double deadline_s, double handshake_s) {
    return error_of([&] {
      ConnectionAttempt(transport, kPeer, "test", is_over, Deadline::after_s(deadline_s), handshake_s)
          .connect();
    });
  }
  std::atomic<bool> is_over{false};
  bool ends_with_first = false;
  DeafTransport transport{[this] { is_over = ends_with_first; }};
};

TEST_F(Attempts, are_over_before_the_next_address_is_tried) {
  ends_with_first = true;
  EXPECT_NE(error_of_attempt(60, 0).find("was given up"), std::string::npos);
  EXPECT_EQ(transport.asked.size(), 1U);
}

TEST_F(Attempts, give_rdma_the_time_of_its_handshake_where_it_matters) {
  EXPECT_EQ(error_of_attempt(60, ConnectionAttempt::kWholeHandshake_s), "refused");
  EXPECT_EQ(error_of_attempt(60, 0), "refused");
  ASSERT_EQ(transport.asked.size(), 2 * kPeer.addresses.size());
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_GT(transport.asked[i].second, 1) << "enough for the verdict on a path that carries nothing";
    EXPECT_LT(transport.asked[kPeer.addresses.size() + i].second, 0.5);
  }
  EXPECT_LT(transport.asked[2].second, 0.5) << "TCP answers at once, or not at all";
}

TEST_F(Attempts, give_no_address_more_than_there_is) {
  error_of_attempt(0.3, ConnectionAttempt::kWholeHandshake_s);
  for (const auto& [address, seconds] : transport.asked) EXPECT_LE(seconds, 0.3) << address;
}

}  // namespace
}  // namespace tenax::comm
