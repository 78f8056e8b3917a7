// The injector over MPI, whose ranks are processes; run with 3 of them by ctest. The link between ranks 0 and 1 is bad.
#include <thread>

#include "comm/link.hpp"
#include "comm/poll.hpp"
#include "kernels/error.hpp"
#include "resilience/faults/fault_injector.hpp"
#include "tests/comm/collective_checks.hpp"
#include "tests/comm/mpi/mpi_main.hpp"

namespace tenax::resilience {
namespace {

using comm::Stopwatch;
using comm::tensor_of;
using comm::TransferPtr;
using kernels::Deadline;

constexpr std::size_t kLarge = 1 << 20;  ///< numbers: more than MPI sends unasked

LinkFault on_link_0_1() {
  LinkFault fault;
  fault.links = {{0, 1}};
  return fault;
}

class InjectorOverMpi : public testing::Test {
 protected:
  void inject(const std::vector<LinkFault>& faults) {
    injector_ = std::make_unique<FaultInjector>(faults);
    world_ = injector_->wrap(comm::test_world(), {.deadline_s = 60});
    endpoint_ = world_->split_endpoint(0, world_->rank());
    control_ = world_->control_group();
  }
  int rank() const { return world_->rank(); }
  TransferPtr exchange(std::vector<float>& values, comm::Tag tag) {
    comm::Link& link = endpoint_->link(1 - rank());
    return rank() == 0 ? link.send(stream_, tensor_of(values), tag)
                       : link.receive(stream_, tensor_of(values), tag);
  }
  static Deadline soon() { return Deadline::after_s(60); }
  static void expect_down(const std::function<void()>& work) {
    try {
      work();
      ADD_FAILURE() << "no error";
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.scope(), kernels::Scope::link);
      EXPECT_NE(std::string(error.what()).find("the direct path is down"), std::string::npos) << error.what();
    }
  }

  comm::HostStream stream_;
  std::unique_ptr<FaultInjector> injector_;
  std::unique_ptr<comm::World> world_;
  std::unique_ptr<comm::Endpoint> endpoint_;
  std::unique_ptr<comm::ControlGroup> control_;
};

TEST_F(InjectorOverMpi, messages_of_any_length_arrive_whole_and_one_delay_after_another) {
  LinkFault slow = on_link_0_1();
  slow.delay_s = 0.02;
  inject({slow});
  injector_->begin_step(0);
  control_->all_gather({});
  const Stopwatch stopwatch;
  if (rank() < 2) {
    std::vector<std::vector<float>> values(6);
    std::vector<TransferPtr> transfers;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].assign(i % 2 == 0 ? kLarge : 3, rank() == 0 ? static_cast<float>(i) : -1);
      transfers.push_back(exchange(values[i], 5));
    }
    for (auto transfer = transfers.rbegin(); transfer != transfers.rend(); ++transfer)
      (*transfer)->wait(soon());
    if (rank() == 0) {
      EXPECT_GE(stopwatch.elapsed_s(), 0.12);
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], std::vector<float>(values[i].size(), static_cast<float>(i)));
  }
  control_->all_gather({});
}

TEST_F(InjectorOverMpi, a_direct_path_that_is_cut_with_messages_under_way_works_again_when_made_anew) {
  LinkFault down = on_link_0_1();
  down.down_path = "direct";
  down.window.from_step = 1;
  down.window.to_step = 2;
  inject({down});
  injector_->begin_step(0);
  std::vector<float> lost(kLarge, 1), small(3, 1), values(kLarge, rank() == 0 ? 7.0F : -1.0F);
  if (rank() < 2) {
    // Of rank 1's receives one is matched by nothing; of rank 0's sends one waits for a receive that never comes.
    std::vector<TransferPtr> under_way;
    under_way.push_back(exchange(rank() == 0 ? lost : small, rank()));
    under_way.push_back(exchange(lost, 3));
    std::thread cutting([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      injector_->begin_step(1);
    });
    expect_down([&] { under_way[0]->wait(soon()); });
    cutting.join();
    expect_down([&] { exchange(values, 4)->wait(soon()); });
  } else {
    injector_->begin_step(1);
  }
  control_->all_gather({});
  injector_->begin_step(2);
  if (rank() < 2) expect_down([&] { exchange(values, 4)->wait(soon()); });
  endpoint_ = world_->split_endpoint(0, rank());
  if (rank() < 2) {
    exchange(values, 3)->wait(soon());
    EXPECT_EQ(values, std::vector<float>(kLarge, 7));
  }
  control_->all_gather({});
}

TEST_F(InjectorOverMpi, collectives_over_a_slow_link_sum_to_the_same_bits_as_without) {
  LinkFault slow = on_link_0_1();
  slow.delay_s = 0.0005;
  inject({slow});
  injector_->begin_step(0);
  const auto device = kernels::create_cpu_device();
  const auto stream = device->create_stream();
  const auto all = world_->split_communicator("all", 0, rank(), *device);
  const auto group = world_->split_communicator("group", rank() / 2, rank(), *device);
  EXPECT_EQ(group->size(), rank() == 2 ? 1 : 2);
  comm::expect_all_reduce<float>(*all, *stream, 10007, 1, comm::ReduceOp::sum);
  comm::expect_all_reduce<float>(*group, *stream, 10007, 2, comm::ReduceOp::sum);
  const Stopwatch stopwatch;
  comm::expect_all_reduce<float>(*all, *stream, 100, 3, comm::ReduceOp::sum);
  if (rank() < 2) {
    EXPECT_GE(stopwatch.elapsed_s(), 0.0005);
  }
  control_->all_gather({});
}

}  // namespace
}  // namespace tenax::resilience
