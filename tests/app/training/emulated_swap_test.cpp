// Emulated ranks that change places: what they send over which links.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "app/options.hpp"
#include "app/training/grid_swap.hpp"
#include "kernels/emulated_device.hpp"
#include "parallel/replica/emulated_replica.hpp"
#include "tests/app/training/swap_course.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::app {
namespace {

/// What emulated ranks sent, by purpose.
struct Sent {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> bytes;
  comm::OnSend on_send() {
    return [this](int, int, const std::string& purpose, const comm::MessageHeader& header) {
      const std::lock_guard lock(mutex);
      bytes[purpose] += header.bytes;
    };
  }
};

/// "direct data.1.0": 1.
std::string generation_of(const std::string& purpose) {
  const std::string rest = purpose.substr(purpose.find('.') + 1);
  return rest.substr(0, rest.find('.'));
}

TEST(EmulatedSwap, emulated_ranks_send_the_state_over_their_links_and_go_on_over_links_of_the_new_places) {
  constexpr std::uint64_t kStateBytes = std::uint64_t{20} << 20;
  Sent sent;
  comm::LocalNetwork network(kCourseRanks, sent.on_send());
  io::Deck deck = course_deck();
  deck.device.kind = io::DeviceKind::emulated;
  deck.device.forward_ms = deck.device.backward_input_ms = deck.device.backward_weight_ms = {0.1};
  deck.device.activation_bytes = deck.device.gradient_bytes = 4096;
  const parallel::Layout layout = plan_layout(deck, 0, std::size_t{0});
  std::vector<GridSwap::Outcome> outcomes(kCourseRanks);
  comm::run_ranks(kCourseRanks, kCourseDeadline_s, [&](comm::World& world) {
    const auto device = kernels::create_emulated_device({});
    const parallel::PipelineContext context{.options = pipeline_options(deck),
                                            .world = world,
                                            .device = *device,
                                            .transport = &network.transport(world.rank()),
                                            .peers = network.peers()};
    parallel::SwappableReplica replica(layout, context,
                                       [&](const parallel::ProcessGrid& grid, const parallel::Replica*) {
                                         return std::make_unique<parallel::EmulatedReplica>(
                                             layout, grid, context, *device,
                                             parallel::EmulatedReplica::Options{.load = emulated_load(deck)});
                                       });
    GridSwap swap(replica, [&](auto& from, auto& to, comm::ControlGroup& control) {
      return move_emulated_state(from, to, control, context, kStateBytes,
                                 {.transport = network.transport(world.rank()), .peers = network.peers()});
    });
    const auto step = [&] {
      replica.passes({.microbatches = layout.schedule.microbatches(), .windows = {}}, {}, nullptr);
      replica.reduce();
      replica.control().all_gather({});
      replica.gather();
    };
    step();
    replica.control().all_gather({});
    if (world.rank() == 0) {
      const std::lock_guard lock(sent.mutex);
      sent.bytes.clear();
    }
    replica.control().all_gather({});
    outcomes[static_cast<std::size_t>(world.rank())] = swap.run(swapped(0, 3));
    step();
  });
  for (int rank = 0; rank < kCourseRanks; ++rank) {
    const bool moved = rank / 2 == 0 || rank / 2 == 3;
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].refusal, "");
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].bytes, moved ? kStateBytes : 0) << rank;
  }
  EXPECT_EQ(sent.bytes["direct swap.1"], 4 * kStateBytes);
  for (const auto& [purpose, bytes] : sent.bytes) EXPECT_EQ(generation_of(purpose), "1") << purpose;
}

}  // namespace
}  // namespace tenax::app
