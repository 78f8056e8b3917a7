#include "comm/transport/connection_attempt.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/comm/link_error.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;

/// Nobody answers: it remembers who was asked, and for how long.
class DeafTransport final : public Transport {
 public:
  explicit DeafTransport(std::function<void(Deadline)> on_connect) : on_connect_(std::move(on_connect)) {}

  std::vector<std::string> addresses() const override { return {}; }
  std::unique_ptr<Connection> connect(const Peer&, const std::string& address, const std::string&,
                                      Deadline deadline) override {
    const std::chrono::duration<double> left = deadline.when() - Deadline::Clock::now();
    asked.push_back({address, left.count()});
    on_connect_(deadline);
    throw kernels::Error(kernels::Scope::link, "refused");
  }
  std::unique_ptr<Connection> accept(const Peer&, const std::string&, Deadline) override {
    throw kernels::Error(kernels::Scope::link, "nobody comes");
  }

  std::vector<std::pair<std::string, double>> asked;

 private:
  const std::function<void(Deadline)> on_connect_;
};

constexpr ConnectionSlices kPatient{.rdma_s = ConnectionAttempt::kWholeHandshake_s};
const Peer kPeer{1, "rank 1", {"verbs:first", "verbs:second", "tcp:third"}};

class Attempts : public ::testing::Test {
 protected:
  std::string error_of_attempt(double deadline_s, ConnectionSlices slices) {
    return error_of([&] {
      ConnectionAttempt(transport, kPeer, "test", is_over, Deadline::after_s(deadline_s), slices).connect();
    });
  }
  std::atomic<bool> is_over{false};
  bool ends_with_first = false, takes_its_time = false, takes_long_to_refuse = false;
  DeafTransport transport{[this](Deadline deadline) {
    if (takes_its_time) std::this_thread::sleep_until(deadline.when());
    if (takes_long_to_refuse) std::this_thread::sleep_for(std::chrono::milliseconds(110));
    is_over = ends_with_first;
  }};
};

// A handshake's own deadline came, which is less than the attempt's: that is no refusal.
TEST_F(Attempts, go_on_where_an_address_takes_its_time_to_refuse) {
  takes_long_to_refuse = true;
  EXPECT_NE(error_of_attempt(1, kPatient).find("before the deadline"), std::string::npos);
  EXPECT_GT(transport.asked.size(), kPeer.addresses.size());
}

TEST_F(Attempts, are_over_before_the_next_address_is_tried) {
  ends_with_first = true;
  EXPECT_NE(error_of_attempt(60, {}).find("was given up"), std::string::npos);
  EXPECT_EQ(transport.asked.size(), 1U);
}

TEST_F(Attempts, give_rdma_the_time_of_its_handshake_where_it_matters) {
  EXPECT_EQ(error_of_attempt(60, kPatient), "refused");
  EXPECT_EQ(error_of_attempt(60, {}), "refused");
  ASSERT_EQ(transport.asked.size(), 2 * kPeer.addresses.size());
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_GT(transport.asked[i].second, 1) << "enough for the verdict on a path that carries nothing";
    EXPECT_LT(transport.asked[kPeer.addresses.size() + i].second, 0.5);
  }
  EXPECT_LT(transport.asked[2].second, 0.5) << "TCP answers at once, or not at all";
}

TEST_F(Attempts, that_take_too_long_say_what_went_wrong_last) {
  takes_its_time = true;
  const std::string message = error_of_attempt(0.3, {});
  EXPECT_NE(message.find("no connection with rank 1 for test before the deadline (last attempt: refused)"),
            std::string::npos)
      << message;
}

TEST_F(Attempts, give_no_address_more_than_there_is) {
  error_of_attempt(0.3, kPatient);
  for (const auto& [address, seconds] : transport.asked) EXPECT_LE(seconds, 0.3) << address;
}

}  // namespace
}  // namespace tenax::comm
