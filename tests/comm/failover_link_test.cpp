// FailoverLink between ranks that are threads: the direct path breaks at chosen moments.
#include "comm/failover/failover_link.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>

#include "comm/host_stream.hpp"
#include "kernels/error.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::comm {
namespace {

constexpr Tag kTags = 12;

/// What direct receives may still write.
using Writable = std::set<const void*>;

/// A link whose transfers fail from a certain number of them on: that one and all later ones of this end, also those
/// that are under way.
class BrittleLink final : public Link {
 public:
  BrittleLink(Link& inner, int lasts, Writable& writable)
      : inner_(inner), lasts_(lasts), writable_(writable) {}
  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return wrap(nullptr, [&] { return inner_.send(stream, tensor, tag); });
  }
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return wrap(tensor.data, [&] { return inner_.receive(stream, tensor, tag); });
  }
  std::string describe() const override { return inner_.describe(); }

 private:
  class Brittle final : public Transfer {
   public:
    Brittle(TransferPtr inner, const int& lasts, Writable& writable, const void* memory)
        : inner_(std::move(inner)), lasts_(lasts), writable_(writable), memory_(memory) {
      if (memory) writable.insert(memory);
    }
    bool done() override {
      check(lasts_);
      if (!inner_->done()) return false;
      writable_.erase(memory_);
      return true;
    }
    void wait(kernels::Deadline deadline) override {
      check(lasts_);
      inner_->wait(deadline);
      writable_.erase(memory_);
    }
    void order_before(kernels::Stream&, kernels::Deadline deadline) override { wait(deadline); }
    void give_up(kernels::Deadline) override { writable_.erase(memory_); }

   private:
    TransferPtr inner_;
    const int& lasts_;
    Writable& writable_;
    const void* memory_;
  };
  static void check(int lasts) {
    if (lasts <= 0) throw kernels::Error(kernels::Scope::link, "the direct path is cut");
  }
  template <class Start>
  TransferPtr wrap(const void* memory, Start start) {
    --lasts_;
    check(lasts_);
    return std::make_unique<Brittle>(start(), lasts_, writable_, memory);
  }

  Link& inner_;
  int lasts_;
  Writable& writable_;
};

/// Stands for the delegates: another link that does not break.
class SoundLink final : public DelegatedLink {
 public:
  SoundLink(Link& inner, const Writable& writable) : inner_(inner), writable_(writable) {}
  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return inner_.send(stream, tensor, tag);
  }
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    EXPECT_FALSE(writable_.contains(tensor.data)) << "a direct receive was not given up";
    return inner_.receive(stream, tensor, tag);
  }
  std::string describe() const override { return inner_.describe(); }
  void set_delegates(int) override {}
  DelegateStatistics statistics() const override { return {}; }

 private:
  Link& inner_;
  const Writable& writable_;
};

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
  std::atomic<int> failures = 0;
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
      group->all_reduce_max({&failed, 1});
      if (failed > 0) link.set_path(Path::delegated, 1);
    }
    EXPECT_EQ(link.path(), Path::delegated);
  });
  EXPECT_GE(failures, 1);
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
