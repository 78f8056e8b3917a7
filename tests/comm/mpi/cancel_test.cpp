// A receive that MPI has matched with its message is written to its end, whoever gives it up; where MPI matches late, the
// message is left to the next receive. Run with
// OMPI_MCA_btl_vader_single_copy_mechanism=none: else ranks of one host read a long message in one go.
#include <chrono>
#include <thread>

#include "comm/link.hpp"
#include "comm/poll.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/mpi/mpi_main.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kLong = 1 << 22;  // numbers; goes in parts, for which its sender must call MPI
constexpr Tag kTag = 3;

/// `says_so`: the receive is given up before it goes; else it just goes, as when an error unwinds the stack.
void expect_no_late_write(bool says_so) {
  ASSERT_EQ(test_world().size(), 2);
  const int rank = test_world().rank();
  const auto endpoint = test_world().split_endpoint(0, rank);
  const auto control = test_world().control_group();
  HostStream stream;
  std::vector<float> values(kLong, rank == 0 ? 1.0F : 0.0F);
  Link& link = endpoint->link(1 - rank);
  const auto soon = [] { return kernels::Deadline::after_s(60); };
  if (rank == 0) {
    const TransferPtr send = link.send(stream, tensor_of(values), kTag);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // no call of MPI
    control->all_gather({});
    EXPECT_TRUE(poll_until([&] { return send->done(); }, soon()));
    control->all_gather({});
    return;
  }
  TransferPtr receive = link.receive(stream, tensor_of(values), kTag);
  const bool done = poll_until([&] { return receive->done(); }, kernels::Deadline::after_s(0.1));
  if (!done && says_so) receive->cancel(soon());
  receive.reset();
  values.assign(kLong, 2.0F);  // somebody else's
  std::vector<float> place(kLong);
  const TransferPtr message_not_matched = link.receive(stream, tensor_of(place), kTag);
  control->all_gather({});
  control->all_gather({});
  EXPECT_EQ(values, std::vector<float>(kLong, 2.0F));
  if (!message_not_matched->done()) message_not_matched->cancel(soon());
}

TEST(MpiTransfer, writes_nothing_after_it_was_given_up) { expect_no_late_write(true); }

TEST(MpiTransfer, writes_nothing_after_it_has_gone) { expect_no_late_write(false); }

TEST(MpiTransfer, that_nobody_answers_is_given_up_at_once) {
  ASSERT_EQ(test_world().size(), 2);
  const auto endpoint = test_world().split_endpoint(0, test_world().rank());
  HostStream stream;
  std::vector<float> values(kLong);
  TransferPtr receive = endpoint->link(1 - test_world().rank()).receive(stream, tensor_of(values), kTag);
  receive->cancel(kernels::Deadline::after_s(60));
  receive.reset();
  test_world().control_group()->all_gather({});
}

}  // namespace
}  // namespace tenax::comm
