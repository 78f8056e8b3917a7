// What a row asks of its links.
#include "parallel/execution/row_traffic.hpp"

#include <gtest/gtest.h>

#include "tests/parallel/execution/arithmetic_stage.hpp"

namespace tenax::parallel {
namespace {

/// Keeps the tags of its receives; a send is done when it has been asked as often as is said, a receive never.
class RecordingLink final : public comm::Link {
 public:
  explicit RecordingLink(std::vector<int> polls_of_send) : polls_of_send_(std::move(polls_of_send)) {}

  comm::TransferPtr send(kernels::Stream&, const kernels::Tensor&, comm::Tag) override {
    return std::make_unique<Poll>(polls_of_send_[sends_++]);
  }
  comm::TransferPtr receive(kernels::Stream&, const kernels::Tensor&, comm::Tag tag) override {
    received.push_back(tag);
    return std::make_unique<Poll>(std::numeric_limits<int>::max());
  }
  std::string describe() const override { return "recording"; }

  std::vector<comm::Tag> received;

 private:
  class Poll final : public comm::Transfer {
   public:
    explicit Poll(int polls) : left_(polls) {}
    bool done() override { return left_ == 0 || --left_ == 0; }
    void wait(kernels::Deadline) override {}
    void order_before(kernels::Stream&, kernels::Deadline) override {}

   private:
    int left_;
  };

  std::vector<int> polls_of_send_;
  std::size_t sends_ = 0;
};

// NCCL matches the messages of a direction by their order alone.
TEST(RowTraffic, gradients_are_received_in_the_rows_order_whichever_activation_left_first) {
  const auto device = kernels::create_cpu_device();
  ArithmeticStage stage(*device, 0, 2, 3, 3);
  RecordingLink link({3, 1, 1});
  RowTraffic traffic(stage, *device, {nullptr, &link}, {{0, 1, 2}, {0, 1, 2}}, 3, 60);
  traffic.reset();
  for (const int m : {0, 1, 2}) {
    ASSERT_TRUE(traffic.ready_forward(m, false));
    traffic.begin_forward(m);
    traffic.end_forward(m);
  }
  for (int i = 0; i < 5; ++i) traffic.post();
  EXPECT_EQ(link.received, (std::vector<comm::Tag>{1, 3, 5}));
}

}  // namespace
}  // namespace tenax::parallel
