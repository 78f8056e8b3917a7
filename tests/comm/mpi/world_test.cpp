// The MPI world: run with 1 to 4 ranks by ctest.
#include <cmath>

#include "comm/link.hpp"
#include "tests/comm/collective_checks.hpp"
#include "tests/comm/control_group_checks.hpp"
#include "tests/comm/mpi/mpi_main.hpp"

namespace tenax::comm {
namespace {

using kernels::bf16_t;

class MpiWorldTest : public testing::Test {
 protected:
  World& world_ = test_world();
  std::unique_ptr<kernels::Device> device_ = kernels::create_cpu_device();
  std::unique_ptr<kernels::Stream> stream_ = device_->create_stream();

  void expect_collectives(Communicator& communicator) {
    expect_all_collectives<float>(communicator, *stream_);
    expect_all_collectives<double>(communicator, *stream_);
    expect_all_collectives<bf16_t>(communicator, *stream_);
    for (int round = 0; round < 3; ++round) expect_outstanding_collectives(communicator, *stream_);
  }
};

TEST_F(MpiWorldTest, knows_that_mpirun_started_it) { EXPECT_TRUE(launched_by_mpi()); }

TEST_F(MpiWorldTest, numbers_the_ranks_of_a_host) {
  EXPECT_EQ(world_.ranks_on_host(), world_.size());
  EXPECT_EQ(world_.rank_on_host(), world_.rank());
}

TEST_F(MpiWorldTest, communicators_within_a_host_sum_in_rank_order_bit_by_bit) {
  const auto communicator = world_.split_communicator("host", 0, world_.rank(), *device_);
  EXPECT_EQ(communicator->size(), world_.size());
  expect_collectives(*communicator);
}

TEST_F(MpiWorldTest, communicators_over_links_sum_in_rank_order_bit_by_bit) {
  const auto communicator =
      create_link_communicator("links", world_.split_endpoint(0, world_.rank()), *device_, {});
  expect_collectives(*communicator);
}

TEST_F(MpiWorldTest, groups_by_color_and_key_work_side_by_side) {
  const auto half = world_.split_communicator("half", world_.rank() % 2, -world_.rank(), *device_);
  const auto all = world_.split_communicator("all", 0, world_.rank(), *device_);
  EXPECT_EQ(half->rank(), (world_.size() - 1 - world_.rank()) / 2);
  CheckedReduceScatter<float> scatter(*all, *stream_, 100003, 1);
  for (int i = 0; i < 10; ++i) expect_all_reduce<float>(*half, *stream_, 10007, i, ReduceOp::sum);
  scatter.transfer->wait(kernels::Deadline::after_s(60));
  scatter.expect_result();
}

TEST_F(MpiWorldTest, messages_of_a_tag_arrive_in_order_whichever_receive_is_looked_at_first) {
  const std::unique_ptr<Endpoint> endpoint = world_.split_endpoint(0, world_.rank());
  if (world_.size() < 2 || world_.rank() > 1) return;
  Link& link = endpoint->link(1 - world_.rank());
  std::vector<std::vector<float>> values(20, std::vector<float>(20000));
  std::vector<TransferPtr> transfers;
  for (int i = 0; i < 20; ++i) {
    auto& value = values[static_cast<std::size_t>(i)];
    value.assign(value.size(), world_.rank() == 0 ? static_cast<float>(i) : -1.0F);
    transfers.push_back(world_.rank() == 0 ? link.send(*stream_, tensor_of(value), i % 2)
                                           : link.receive(*stream_, tensor_of(value), i % 2));
  }
  for (auto transfer = transfers.rbegin(); transfer != transfers.rend(); ++transfer)
    (*transfer)->wait(kernels::Deadline::after_s(60));
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(values[i], std::vector<float>(20000, static_cast<float>(i)));
}

TEST_F(MpiWorldTest, refuses_messages_of_another_length) {
  for (const std::size_t receiver_length : {3, 5}) {
    const std::unique_ptr<Endpoint> endpoint = world_.split_endpoint(0, world_.rank());
    if (world_.size() < 2 || world_.rank() > 1) continue;
    std::vector<float> values(world_.rank() == 0 ? 4 : receiver_length);
    const auto deadline = kernels::Deadline::after_s(60);
    if (world_.rank() == 0) {
      endpoint->link(1).send(*stream_, tensor_of(values), 0)->wait(deadline);
      continue;
    }
    try {
      endpoint->link(0).receive(*stream_, tensor_of(values), 0)->wait(deadline);
      ADD_FAILURE() << "accepted 16 bytes for " << receiver_length * 4;
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.scope(), kernels::Scope::link);
      EXPECT_NE(std::string(error.what()).find("rank 0"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("both ends must name the same count"), std::string::npos);
    }
  }
}

TEST_F(MpiWorldTest, a_receive_without_a_sender_ends_with_an_error_that_names_it) {
  const std::unique_ptr<Endpoint> endpoint = world_.split_endpoint(0, world_.rank());
  if (world_.rank() != 1) return;
  std::vector<float> values(4);
  try {
    endpoint->link(0).receive(*stream_, tensor_of(values), 3)->wait(kernels::Deadline::after_s(0.1));
    ADD_FAILURE() << "received what nobody sent";
  } catch (const kernels::Error& error) {
    EXPECT_NE(std::string(error.what()).find("for rank 0 (" + world_.host() + ")"), std::string::npos)
        << error.what();
  }
}

TEST_F(MpiWorldTest, control_groups_carry_texts_sums_and_failures) {
  const std::unique_ptr<ControlGroup> group = world_.control_group();
  expect_texts_arrive(*group);
  expect_reductions(*group);
  expect_sums_in_the_order_asked_for(*group);
  expect_agreement_on_lowest_failure(*group);
}

}  // namespace
}  // namespace tenax::comm
