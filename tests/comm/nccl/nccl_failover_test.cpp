// A pipeline whose direct path is NCCL (a fake one) and leaves it for delegates in mid-iteration.
#include <array>

#include "tests/comm/nccl/nccl_ranks.hpp"
#include "tests/parallel/execution/failover_rank.hpp"

namespace tenax::comm {
namespace {

using fake_nccl::Network;
using parallel::FailoverRank;

/// Messages go until there have been so many at this end: then this end's network is what it is said to become.
class FailingNetwork final : public Link {
 public:
  FailingNetwork(Link& inner, int lasts, Network network) : inner_(inner), lasts_(lasts), network_(network) {}
  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    count();
    return inner_.send(stream, tensor, tag);
  }
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    count();
    return inner_.receive(stream, tensor, tag);
  }
  std::string describe() const override { return inner_.describe(); }

 private:
  void count() {
    if (lasts_-- == 0) fake_nccl::set_network(network_);
  }

  Link& inner_;
  int lasts_;
  const Network network_;
};

struct Outcome {
  std::vector<float> values;
  std::string failure;
  Arrivals arrivals;
};
using Outcomes = std::array<Outcome, 2>;

/// Rank `failing` has a network that lasts for so many messages.
Outcomes train(int failing, int lasts, Network network, double deadline_s) {
  Outcomes outcomes;
  run_on_devices(2, deadline_s, [&](World& world, kernels::Device& device, kernels::Stream&) {
    const int rank = world.rank(), peer = 1 - rank;
    const auto direct =
        create_nccl_endpoint(world.split_endpoint(0, rank), {peer}, device, {deadline_s, kPatience_s});
    FailingNetwork link(direct->link(peer), rank == failing ? lasts : 1 << 20, network);
    FailoverRank stage(world, device, link, deadline_s);
    stage.train();
    outcomes[static_cast<std::size_t>(rank)] = {stage.stage().outcome(), stage.link().failure(),
                                                stage.link().arrivals()};
  });
  return outcomes;
}

Outcomes healthy() { return train(0, 1 << 20, Network::healthy, kPatience_s); }

class NcclFailover : public testing::TestWithParam<int> {};

TEST_P(NcclFailover, an_error_that_nccl_reports_leaves_the_messages_to_delegates_and_the_bits_as_they_were) {
  const Outcomes expected = healthy();
  for (const int failing : {0, 1}) {
    const Outcomes got = train(failing, GetParam(), Network::faulty, kPatience_s);
    for (const std::size_t rank : {0U, 1U}) {
      EXPECT_EQ(got[rank].values, expected[rank].values);
      EXPECT_NE(got[rank].failure, "");
      EXPECT_EQ(got[rank].arrivals.direct + got[rank].arrivals.delegated, FailoverRank::kMicrobatches);
    }
    const std::string& failure = got[static_cast<std::size_t>(failing)].failure;
    for (const std::string part : {"bytes (tag ", "from rank ", "remote process exited"})
      EXPECT_NE(failure.find(part), std::string::npos) << failure;
  }
}

TEST_P(NcclFailover, a_silent_network_is_left_at_the_deadline_and_the_bits_stay_as_they_were) {
  const Outcomes expected = healthy(), got = train(1, GetParam(), Network::silent, kShort_s);
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(got[rank].values, expected[rank].values);
    EXPECT_NE(got[rank].failure, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Moments, NcclFailover, testing::Values(0, 3, 7),
                         [](const auto& instance) { return "after_" + std::to_string(instance.param); });

TEST(NcclFailoverHealthy, all_messages_go_over_nccl) {
  for (const Outcome& outcome : healthy()) {
    EXPECT_EQ(outcome.failure, "");
    EXPECT_EQ(outcome.arrivals.direct, FailoverRank::kMicrobatches);
  }
}

}  // namespace
}  // namespace tenax::comm
