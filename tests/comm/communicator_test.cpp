// Both communicators on ranks that are threads: results bit by bit, several collectives at once, silent peers.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <map>
#include <mutex>

#include "comm/poll.hpp"
#include "comm/shared_memory/chunk_window.hpp"
#include "comm/shared_memory/shared_memory_communicator.hpp"
#include "kernels/error.hpp"
#include "tests/comm/collective_checks.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::comm {
namespace {

using kernels::bf16_t;

/// The threads' shared memory: plain memory, so that a thread sanitizer sees every access.
class HeapSegment final : public SharedSegment {
 public:
  explicit HeapSegment(int ranks) : bytes_(ChunkWindow::bytes(ranks)), memory_(bytes_ + 4096) {}
  std::byte* data() const override {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return const_cast<std::byte*>(memory_.data()) + (4096 - address % 4096);
  }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_;
  std::vector<std::byte> memory_;
};

enum class Carrier { link, shared_memory };

class CommunicatorTest : public testing::TestWithParam<std::tuple<Carrier, int>> {
 protected:
  using Body = std::function<void(Communicator&, kernels::Stream&)>;

  void run(const Body& body, double deadline_s = 60) {
    const auto [carrier, ranks] = GetParam();
    const auto segment = std::make_shared<HeapSegment>(ranks);
    run_ranks(ranks, 60, [&, carrier = carrier](World& world) {
      const std::unique_ptr<kernels::Stream> stream = device_->create_stream();
      const std::unique_ptr<Communicator> communicator =
          carrier == Carrier::link ? create_link_communicator("test", world.split_endpoint(0, world.rank()),
                                                              *device_, {deadline_s})
                                   : create_shared_memory_communicator("test", segment, world.rank(),
                                                                       names(world.size()), {deadline_s});
      body(*communicator, *stream);
    });
  }
  static std::vector<std::string> names(int ranks) {
    std::vector<std::string> names;
    for (int rank = 0; rank < ranks; ++rank) names.push_back("rank " + std::to_string(rank) + " (here)");
    return names;
  }
  static int ranks() { return std::get<1>(GetParam()); }

  std::unique_ptr<kernels::Device> device_ = kernels::create_cpu_device();
};

TEST_P(CommunicatorTest, sums_fp32_in_rank_order_bit_by_bit) {
  run([](Communicator& c, kernels::Stream& s) { expect_all_collectives<float>(c, s); });
}
TEST_P(CommunicatorTest, sums_fp64_in_rank_order_bit_by_bit) {
  run([](Communicator& c, kernels::Stream& s) { expect_all_collectives<double>(c, s); });
}
TEST_P(CommunicatorTest, sums_bf16_in_fp32_and_rounds_once) {
  run([](Communicator& c, kernels::Stream& s) { expect_all_collectives<bf16_t>(c, s); });
}
TEST_P(CommunicatorTest, carries_several_collectives_at_once) {
  run([](Communicator& c, kernels::Stream& s) {
    for (int round = 0; round < 5; ++round) expect_outstanding_collectives(c, s);
  });
}

TEST_P(CommunicatorTest, ranks_may_start_late_and_do_other_work_in_between) {
  run([](Communicator& c, kernels::Stream& s) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * c.rank()));
    CheckedReduceScatter<float> scatter(c, s, 400009, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * (c.size() - c.rank())));
    while (!scatter.transfer->done()) std::this_thread::yield();
    scatter.expect_result();
  });
}

TEST_P(CommunicatorTest, lends_a_link_to_each_other_rank_where_its_messages_go_over_links) {
  run([](Communicator& communicator, kernels::Stream&) {
    const bool has_links = std::get<0>(GetParam()) == Carrier::link;
    EXPECT_EQ(communicator.topology(), has_links ? LinkTopology::all_pairs : LinkTopology::none);
    for (int peer = 0; peer < communicator.size(); ++peer)
      EXPECT_EQ(communicator.link(peer) != nullptr, has_links && peer != communicator.rank());
  });
}

TEST_P(CommunicatorTest, names_a_silent_rank_when_the_deadline_passes) {
  if (ranks() == 1) GTEST_SKIP() << "a group of one waits for nobody";
  const int silent = ranks() - 1;
  for (const std::int64_t elements : {10, 2000000}) {
    std::latch all_here(ranks());  // on a busy machine threads start long after one another
    run(
        [&](Communicator& c, kernels::Stream& s) {
          all_here.arrive_and_wait();
          if (c.rank() == silent) return;
          std::vector<float> values = contribution<float>(c.rank(), elements, 1);
          try {
            c.all_reduce(s, tensor_of(values), ReduceOp::sum);
            ADD_FAILURE() << "an all_reduce without rank " << silent << " ended";
          } catch (const kernels::Error& error) {
            EXPECT_EQ(error.scope(), kernels::Scope::link);
            EXPECT_NE(std::string(error.what()).find("for rank " + std::to_string(silent)), std::string::npos)
                << error.what();
            EXPECT_NE(std::string(error.what()).find("test group"), std::string::npos) << error.what();
          }
        },
        elements == 10 ? 1 : 2);
  }
}

std::string parameter_name(const testing::TestParamInfo<std::tuple<Carrier, int>>& info) {
  const auto [carrier, ranks] = info.param;
  return std::string(carrier == Carrier::link ? "link" : "shared_memory") + "_" + std::to_string(ranks);
}
INSTANTIATE_TEST_SUITE_P(, CommunicatorTest,
                         testing::Combine(testing::Values(Carrier::link, Carrier::shared_memory),
                                          testing::Range(1, 6)),
                         parameter_name);

TEST(Contributions, another_order_of_summation_gives_other_bits) {
  int differences = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    float c[3];
    for (int rank = 0; rank < 3; ++rank) c[rank] = static_cast<float>(contribution_value(rank, i, 1));
    if ((c[0] + c[1]) + c[2] != (c[2] + c[1]) + c[0]) ++differences;
  }
  EXPECT_GT(differences, 50);  // else the bitwise tests above would prove nothing about order
}

// What rank 1 needs before it comes gets on only while rank 0 waits.
TEST(SharedMemoryCommunicator, lets_other_messages_get_on_while_it_waits) {
  const auto segment = std::make_shared<HeapSegment>(2);
  std::atomic<int> calls = 0;
  run_ranks(2, 60, [&](World& world) {
    const auto device = kernels::create_cpu_device();
    const auto stream = device->create_stream();
    const auto communicator = create_shared_memory_communicator(
        "test", segment, world.rank(), {"rank 0", "rank 1"}, {60}, [&calls, rank = world.rank()] {
          if (rank == 0) ++calls;
        });
    std::vector<float> values(10, 1.0F);
    if (world.rank() == 1) {
      EXPECT_TRUE(poll_until([&] { return calls > 0; }, kernels::Deadline::after_s(30)));
    }
    communicator->all_reduce(*stream, {values.data(), kernels::DType::f32, {10}}, ReduceOp::sum);
    EXPECT_EQ(values.front(), 2.0F);
  });
}

}  // namespace
}  // namespace tenax::comm
