// FailoverLink between ranks that are threads: the direct path breaks at chosen moments.
#include "comm/failover/failover_link.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "comm/link.hpp"
#include "kernels/error.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/failover/failover_paths.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::comm {
namespace {

float value_of(int iteration, int from, Tag tag) {
  return static_cast<float>(1000 * iteration + 100 * from + tag);
}

/// One rank's half of an iteration: sends and receives every tag, in an order of its own; a send's memory is spoiled as
/// soon as it may be.
void iterate(Link& link, int rank, int iteration, unsigned seed) {
  HostStream stream;
  std::mt19937 random(seed);
  std::vector<Tag> order(kTags);
  for (Tag tag = 0; tag < kTags; ++tag) order[static_cast<std::size_t>(tag)] = tag;
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::vector<float>> out(kTags, std::vector<float>(50)), in(kTags, std::vector<float>(50, -1));
  std::vector<TransferPtr> sends, receives;
  for (const Tag tag : order) {
    const auto t = static_cast<std::size_t>(tag);
    receives.push_back(link.receive(stream, tensor_of(in[t]), tag));
    out[t].assign(50, value_of(iteration, rank, tag));
    sends.push_back(link.send(stream, tensor_of(out[t]), tag));
    if (sends.back()->done()) out[t].assign(50, -2);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto t = static_cast<std::size_t>(order[i]);
    receives[i]->wait(kernels::Deadline::after_s(20));
    EXPECT_EQ(in[t], std::vector<float>(50, value_of(iteration, 1 - rank, order[i])));
    sends[i]->wait(kernels::Deadline::after_s(20));
    out[t].assign(50, -2);
  }
}

struct Break {
  int after_0, after_1;  // transfers that each end's direct link lasts for
};

class FailoverLinkTest : public testing::TestWithParam<Break> {};

TEST_P(FailoverLinkTest, loses_and_doubles_nothing_when_the_direct_path_breaks) {
  constexpr int kIterations = 4;
  const Break lasts = GetParam();
  std::atomic<int> failures = 0, breaks = 0;
  run_ranks(2, 20, [&](World& world) {
    const int rank = world.rank();
    const auto direct = world.split_endpoint(0, rank), control = world.split_endpoint(0, rank);
    const auto other = world.split_endpoint(0, rank);
    const auto group = world.control_group();
    const auto device = kernels::create_cpu_device();
    Writable writable;
    BrittleLink brittle(direct->link(1 - rank), rank == 0 ? lasts.after_0 : lasts.after_1, writable);
    FailoverLink link(brittle, control->link(1 - rank),
                      [&] { return std::make_unique<SoundLink>(other->link(1 - rank), writable); }, *device,
                      {kTags, 20});
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      iterate(link, rank, iteration, static_cast<unsigned>(7 * iteration + rank));
      link.finish_iteration();
      EXPECT_EQ(link.arrivals().direct + link.arrivals().delegated, kTags);
      double failed = link.failure().empty() ? 0 : 1;
      if (failed > 0) ++failures;
      if (link.direct_path_broke()) ++breaks;
      group->all_reduce_max({&failed, 1});
      if (failed > 0) link.set_path(Path::delegated, 1);
    }
    EXPECT_EQ(link.path(), Path::delegated);
  });
  EXPECT_GE(failures, 1);
  EXPECT_GE(breaks, 1);
}

TEST_P(FailoverLinkTest, further_iterations_may_come_before_the_next_path_is_chosen) {
  const Break lasts = GetParam();
  run_ranks(2, 20, [&](World& world) {
    const int rank = world.rank();
    const auto direct = world.split_endpoint(0, rank), control = world.split_endpoint(0, rank);
    const auto other = world.split_endpoint(0, rank);
    const auto device = kernels::create_cpu_device();
    Writable writable;
    BrittleLink brittle(direct->link(1 - rank), rank == 0 ? lasts.after_0 : lasts.after_1, writable);
    FailoverLink link(brittle, control->link(1 - rank),
                      [&] { return std::make_unique<SoundLink>(other->link(1 - rank), writable); }, *device,
                      {kTags, 20});
    Arrivals of_failure;
    for (int iteration = 0; iteration < 6; ++iteration) {
      const bool had_failed = !link.failure().empty();
      iterate(link, rank, iteration, static_cast<unsigned>(5 * iteration + rank));
      link.finish_iteration();
      if (!had_failed) of_failure = link.arrivals();
      EXPECT_EQ(link.arrivals().direct, of_failure.direct) << "of the iteration that failed";
      EXPECT_FALSE(had_failed && link.failure().empty()) << "only set_path forgives";
      EXPECT_FALSE(link.is_void()) << "the host has waited for each message";
    }
    EXPECT_NE(link.failure(), "");
  });
}

INSTANTIATE_TEST_SUITE_P(Moments, FailoverLinkTest,
                         testing::Values(Break{1, 1000}, Break{1000, 1}, Break{5, 5}, Break{5, 1000},
                                         Break{1000, 12}, Break{23, 1000}, Break{24, 24}, Break{30, 1000},
                                         Break{60, 61}, Break{1, 1}),
                         [](const auto& instance) {
                           return "after_" + std::to_string(instance.param.after_0) + "_and_" +
                                  std::to_string(instance.param.after_1);
                         });

TEST(FailoverLink, goes_back_to_a_direct_path_that_was_built_anew) {
  run_ranks(2, 20, [](World& world) {
    const int rank = world.rank();
    const auto direct = world.split_endpoint(0, rank), control = world.split_endpoint(0, rank);
    const auto other = world.split_endpoint(0, rank), anew = world.split_endpoint(0, rank);
    const auto device = kernels::create_cpu_device();
    const Writable none;
    FailoverLink link(direct->link(1 - rank), control->link(1 - rank),
                      [&] { return std::make_unique<SoundLink>(other->link(1 - rank), none); }, *device,
                      {kTags, 20});
    for (int iteration = 0; iteration < 3; ++iteration) {
      if (iteration == 1) link.set_path(Path::delegated, 1);
      if (iteration == 2) {
        link.set_direct(anew->link(1 - rank));
        link.set_path(Path::direct, 0);
      }
      iterate(link, rank, iteration, static_cast<unsigned>(rank));
      link.finish_iteration();
      EXPECT_TRUE(link.failure().empty()) << link.failure();
      EXPECT_EQ(link.arrivals().direct, iteration == 1 ? 0 : kTags);
      EXPECT_EQ(link.arrivals().delegated, iteration == 1 ? kTags : 0);
    }
  });
}

/// The CPU, which counts what is taken of its memory.
class CountingDevice final : public kernels::Device {
 public:
  kernels::DeviceKind kind() const override { return cpu_->kind(); }
  std::string name() const override { return "counting"; }
  std::size_t memory_bytes() const override { return cpu_->memory_bytes(); }
  bool has_data() const override { return true; }
  bool is_host_memory() const override { return true; }
  std::unique_ptr<kernels::Buffer> allocate(std::size_t bytes, kernels::MemoryKind kind) override {
    ++allocations;
    return cpu_->allocate(bytes, kind);
  }
  std::unique_ptr<kernels::Stream> create_stream() override { return cpu_->create_stream(); }
  std::unique_ptr<kernels::Event> create_event() override { return cpu_->create_event(); }
  kernels::Kernels& kernels() override { return cpu_->kernels(); }

  int allocations = 0;

 private:
  std::unique_ptr<kernels::Device> cpu_ = kernels::create_cpu_device();
};

TEST(FailoverLink, takes_the_memory_for_messages_under_way_before_there_are_any) {
  run_ranks(2, 20, [](World& world) {
    const int rank = world.rank();
    const auto direct = world.split_endpoint(0, rank), control = world.split_endpoint(0, rank);
    CountingDevice device;
    FailoverLink link(direct->link(1 - rank), control->link(1 - rank),
                      [] { return std::unique_ptr<DelegatedLink>(); }, device,
                      {kTags, 20, 50 * sizeof(float), kTags});
    EXPECT_EQ(device.allocations, kTags);
    for (int iteration = 0; iteration < 3; ++iteration) {
      iterate(link, rank, iteration, static_cast<unsigned>(rank));
      link.finish_iteration();
    }
    EXPECT_EQ(device.allocations, kTags);
  });
}

TEST(FailoverLink, keeps_no_bytes_of_sends_that_have_failed_however_often_the_path_breaks) {
  constexpr int kBreaks = 5;
  run_ranks(2, 20, [](World& world) {
    const int rank = world.rank();
    const auto control = world.split_endpoint(0, rank), other = world.split_endpoint(0, rank);
    CountingDevice device;
    Writable writable;
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    std::vector<std::unique_ptr<BrittleLink>> paths;
    const auto build = [&]() -> Link& {
      endpoints.push_back(world.split_endpoint(0, rank));
      paths.push_back(std::make_unique<BrittleLink>(endpoints.back()->link(1 - rank), kTags, writable));
      return *paths.back();
    };
    FailoverLink link(build(), control->link(1 - rank),
                      [&] { return std::make_unique<SoundLink>(other->link(1 - rank), writable); }, device,
                      {kTags, 20, 50 * sizeof(float), kTags});
    for (int iteration = 0; iteration < kBreaks; ++iteration) {
      iterate(link, rank, iteration, static_cast<unsigned>(rank));
      link.finish_iteration();
      EXPECT_FALSE(link.failure().empty());
      EXPECT_EQ(device.allocations, kTags);
      link.set_direct(build());
      EXPECT_FALSE(link.uses(*paths[paths.size() - 2]));
      link.set_path(Path::direct, 0);
    }
  });
}

TEST(FailoverLink, a_peer_that_is_gone_ends_in_an_error_that_names_the_link) {
  run_ranks(2, 20, [](World& world) {
    const int rank = world.rank();
    const auto direct = world.split_endpoint(0, rank), control = world.split_endpoint(0, rank);
    if (rank == 1) return;
    const auto device = kernels::create_cpu_device();
    HostStream stream;
    FailoverLink link(direct->link(1), control->link(1), [] { return std::unique_ptr<DelegatedLink>(); },
                      *device, {kTags, 0.2});
    std::vector<float> value(4);
    const TransferPtr receive = link.receive(stream, tensor_of(value), 3);
    try {
      receive->wait(kernels::Deadline::after_s(0.1));
      ADD_FAILURE() << "no error";
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.scope(), kernels::Scope::link);
      EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
    }
  });
}

}  // namespace
}  // namespace tenax::comm
