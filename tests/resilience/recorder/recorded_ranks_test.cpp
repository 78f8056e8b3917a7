// Ranks are threads, each with a recorder of its own: what is recorded of their groups and links, and who is blamed.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>

#include "comm/transport/transports.hpp"
#include "parallel/replica/pipeline_links.hpp"
#include "resilience/blame/culprits.hpp"
#include "resilience/recorder/recorded_steps.hpp"
#include "resilience/recorder/recorded_world.hpp"
#include "resilience/recorder/recorder_image.hpp"
#include "tests/comm/one_job.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::resilience {
namespace {

constexpr double kDeadline_s = 20;

class RecordedRanks : public io::DirectoryTest {
 protected:
  /// What each rank does, in a thread of its own.
  using Work = std::function<void(int rank, comm::World& world, Recorder& recorder)>;

  void start(int ranks, Work work) {
    worlds_ = comm::create_thread_worlds(ranks, {kDeadline_s});
    for (int rank = 0; rank < ranks; ++rank)
      recorders_.push_back(
          std::make_unique<Recorder>(directory_ / recorder_name(rank), Recorder::Seat{0, rank, "here"}));
    for (int rank = 0; rank < ranks; ++rank)
      threads_.emplace_back([this, rank, work] {
        const auto i = static_cast<std::size_t>(rank);
        RecordedWorld world(*worlds_[i], *recorders_[i], {kDeadline_s});
        work(rank, world, *recorders_[i]);
      });
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  ~RecordedRanks() override { join(); }

  std::vector<RecorderImage> images() const {
    std::vector<RecorderImage> images;
    for (std::size_t rank = 0; rank < recorders_.size(); ++rank)
      images.push_back(image_of(*RecorderMap::open(directory_ / recorder_name(static_cast<int>(rank)))));
    return images;
  }
  /// Once `is_so` holds of the dump; the last one otherwise.
  HangDump dump_when(const std::function<bool(const HangDump&)>& is_so) const {
    HangDump dump;
    for (int i = 0; i < 400; ++i) {
      const auto before = images();
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      dump = hang_dump(before, images(), {});
      if (is_so(dump)) break;
    }
    return dump;
  }
  static bool has_culprit(const HangDump& dump) { return !find_culprits(dump).culprits.empty(); }

  std::vector<std::unique_ptr<comm::World>> worlds_;
  std::vector<std::unique_ptr<Recorder>> recorders_;
  std::vector<std::thread> threads_;
  std::atomic<bool> go_on_{false};
  void wait_to_go_on() const {
    while (!go_on_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

TEST_F(RecordedRanks, a_rank_that_does_not_come_to_a_collective_is_named) {
  start(3, [this](int rank, comm::World& world, Recorder&) {
    const auto device = kernels::create_cpu_device();
    const auto group = world.split_communicator("data", 0, rank, *device);
    const auto stream = device->create_stream();
    const auto memory = device->allocate(64);
    const kernels::Tensor tensor = memory->tensor(kernels::DType::f32, {16});
    for (int i = 0; i < 5; ++i) group->all_reduce(*stream, tensor, comm::ReduceOp::sum);
    if (rank == 1) wait_to_go_on();
    group->all_reduce(*stream, tensor, comm::ReduceOp::sum);
  });
  const Blame blame = find_culprits(dump_when([](const HangDump& dump) {
    const Blame found = find_culprits(dump);
    return !found.culprits.empty() && found.culprits[0].waiting_ranks == 2;
  }));
  go_on_ = true;
  ASSERT_FALSE(blame.culprits.empty());
  EXPECT_EQ(blame.culprits[0].rank, 1);
  EXPECT_NE(blame.operation.find("all_reduce 5 of replica 0's data@0#0"), std::string::npos)
      << blame.operation;
}

TEST_F(RecordedRanks, a_rank_that_looks_for_a_message_blames_the_one_that_has_not_sent_it) {
  start(2, [this](int rank, comm::World& world, Recorder&) {
    const auto device = kernels::create_cpu_device();
    const auto endpoint = world.split_endpoint(0, rank);
    const auto stream = device->create_stream();
    const auto memory = device->allocate(64);
    const kernels::Tensor tensor = memory->tensor(kernels::DType::f32, {16});
    const auto link = world.watch(endpoint->link(1 - rank), "pipeline.0", rank, 1 - rank);
    if (rank == 1) wait_to_go_on();
    const auto transfer = rank == 1 ? link->send(*stream, tensor, 7) : link->receive(*stream, tensor, 7);
    while (!transfer->done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const HangDump dump = dump_when(has_culprit);
  go_on_ = true;
  ASSERT_TRUE(has_culprit(dump));
  EXPECT_EQ(find_culprits(dump).culprits[0].rank, 1);
}

TEST_F(RecordedRanks, a_message_that_goes_over_delegates_is_waited_for_by_name) {
  start(2, [this](int rank, comm::World& world, Recorder&) {
    const auto device = kernels::create_cpu_device();
    const auto transport = comm::create_transport(
        {.kind = comm::TransportKind::shared_memory, .interfaces = {}, .secret = comm::one_job()});
    const auto peers = comm::exchange_peers(*world.control_group(), *transport, rank, world.host());
    parallel::Layout layout;
    layout.grid.pipeline = 2;
    const parallel::ProcessGrid grid(layout.grid);
    parallel::PipelineLinks links(
        layout, grid,
        {{.paths = parallel::PathChoice::delegated_only, .deadline_s = kDeadline_s, .emulated = {}},
         world,
         *device,
         transport.get(),
         peers});
    const auto stream = device->create_stream();
    const auto memory = device->allocate(64);
    const kernels::Tensor tensor = memory->tensor(kernels::DType::f32, {16});
    if (rank == 0) wait_to_go_on();
    const auto transfer = rank == 0 ? links.neighbours().downstream->send(*stream, tensor, 0)
                                    : links.neighbours().upstream->receive(*stream, tensor, 0);
    transfer->wait(kernels::Deadline::after_s(kDeadline_s));
    links.finish_iteration();
  });
  const HangDump dump = dump_when(has_culprit);
  go_on_ = true;
  ASSERT_TRUE(has_culprit(dump));
  const Blame blame = find_culprits(dump);
  EXPECT_EQ(blame.culprits[0].rank, 0);
  EXPECT_NE(blame.operation.find(" 0>1"), std::string::npos) << blame.operation;
}

TEST_F(RecordedRanks, control_messages_are_operations_of_all) {
  start(3, [this](int rank, comm::World& world, Recorder&) {
    const auto control = world.control_group();
    control->broadcast("x", 0);
    if (rank == 2) wait_to_go_on();
    control->all_gather("y");
  });
  const HangDump dump = dump_when([](const HangDump& now) {
    return has_culprit(now) && find_culprits(now).culprits[0].waiting_ranks == 2;
  });
  go_on_ = true;
  ASSERT_TRUE(has_culprit(dump));
  EXPECT_EQ(find_culprits(dump).culprits[0].rank, 2);
}

TEST_F(RecordedRanks, the_exchange_of_a_step_is_one_of_the_ranks_of_all_replicas) {
  StepPoints nobody;
  Recorder first(directory_ / "recorder-0", {0, 0, "here"}),
      second(directory_ / "recorder-1", {1, 0, "there"});
  RecordedSteps steps_of_first(nobody, first), steps_of_second(nobody, second);
  for (RecordedSteps* steps : {&steps_of_first, &steps_of_second}) {
    steps->reach(StepPoint::passes, 4);
    steps->reach(StepPoint::exchange, 4);
    steps->reach(StepPoint::update, 4);
    steps->reach(StepPoint::passes, 5);
  }
  steps_of_first.reach(StepPoint::exchange, 5);
  const std::vector<RecorderImage> images = {image_of(*RecorderMap::open(directory_ / "recorder-0")),
                                             image_of(*RecorderMap::open(directory_ / "recorder-1"))};
  const HangDump dump = hang_dump(images, images, {});
  const Blame blame = find_culprits(dump);
  ASSERT_EQ(blame.culprits.size(), 1U);
  EXPECT_EQ(dump.ranks[static_cast<std::size_t>(blame.culprits[0].rank)].replica, 1);
  EXPECT_EQ(blame.operation, "exchange 5 of exchange@0");
}

}  // namespace
}  // namespace tenax::resilience
