// Which of two sound-looking direct paths is to blame when a message is waited for in vain.
#include <gtest/gtest.h>

#include <atomic>

#include "comm/failover/failover_link.hpp"
#include "comm/link.hpp"
#include "comm/poll.hpp"
#include "comm/transfer.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/failover/failover_paths.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::comm {
namespace {

/// A link over which, where it is silent, nothing arrives.
class SilentLink final : public Link {
 public:
  SilentLink(Link& inner, bool is_silent) : inner_(inner), is_silent_(is_silent) {}
  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return is_silent_ ? std::make_unique<DoneTransfer>() : inner_.send(stream, tensor, tag);
  }
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return inner_.receive(stream, tensor, tag);
  }
  std::string describe() const override { return inner_.describe(); }

 private:
  Link& inner_;
  const bool is_silent_;
};

/// How long a message is waited for in vain, and the link's deadline: for most of it, or for next to nothing of it.
struct Patience {
  double wait_s, deadline_s;
};
constexpr Patience kLong{3, 4}, kShort{0.2, 20};

/// Two ends whose direct path is given up by rank 0, which waits for a message (tag 3). `sends_before`: rank 1 has sent it by
/// then. Whether one of the ends then says that the direct path broke.
bool is_blamed(Patience patience, bool sends_before, bool is_silent) {
  std::atomic<bool> blamed = false;
  run_ranks(2, 20, [&](World& world) {
    const int rank = world.rank();
    const auto direct = world.split_endpoint(0, rank), control = world.split_endpoint(0, rank);
    const auto other = world.split_endpoint(0, rank);
    const auto group = world.control_group();
    const auto device = kernels::create_cpu_device();
    const Writable none;
    SilentLink silent(direct->link(1 - rank), is_silent);
    FailoverLink link(silent, control->link(1 - rank),
                      [&] { return std::make_unique<SoundLink>(other->link(1 - rank), none); }, *device,
                      {kTags, patience.deadline_s});
    HostStream stream;
    std::vector<float> out(4, 7), in(4, 0);
    TransferPtr send, receive;
    if (rank == 0) {
      receive = link.receive(stream, tensor_of(in), 3);
      group->all_gather({});
      receive->wait(kernels::Deadline::after_s(patience.wait_s));
      send = link.send(stream, tensor_of(out), 5);
    } else {
      receive = link.receive(stream, tensor_of(in), 5);
      if (sends_before) send = link.send(stream, tensor_of(out), 3);
      group->all_gather({});
      poll_until([&] { return receive->done() || !link.failure().empty(); }, kernels::Deadline::after_s(20));
      if (!sends_before) send = link.send(stream, tensor_of(out), 3);
      receive->wait(kernels::Deadline::after_s(20));
    }
    link.finish_iteration();
    EXPECT_EQ(in, out);
    EXPECT_FALSE(link.failure().empty());
    if (link.direct_path_broke()) blamed = true;
    group->all_gather({});
    link.set_path(Path::direct, 0);
    EXPECT_FALSE(link.direct_path_broke());
  });
  return blamed;
}

TEST(FailoverLink, blames_a_direct_path_that_lost_what_was_waited_for) {
  EXPECT_TRUE(is_blamed(kLong, true, true));
}

TEST(FailoverLink, does_not_blame_a_direct_path_over_which_nothing_was_sent) {
  EXPECT_FALSE(is_blamed(kShort, false, false));
}

TEST(FailoverLink, does_not_blame_a_direct_path_for_what_was_sent_only_just) {
  EXPECT_FALSE(is_blamed(kShort, true, true));
}

}  // namespace
}  // namespace tenax::comm
