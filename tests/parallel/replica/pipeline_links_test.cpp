#include "parallel/replica/pipeline_links.hpp"

#include <gtest/gtest.h>

#include <array>

#include "parallel/replica/rehearsal.hpp"
#include "tests/comm/emulated/emulated_network.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::parallel {
namespace {

constexpr double kLinkLimit_s = 60;

/// Counts the links from device to device that are asked for.
class DirectCount final : public comm::ForwardingWorld {
 public:
  using ForwardingWorld::ForwardingWorld;
  std::unique_ptr<comm::Communicator> split_communicator(const std::string& name, int color, int key,
                                                         kernels::Device& device) override {
    return inner_.split_communicator(name, color, key, device);
  }
  std::unique_ptr<comm::Endpoint> split_direct_endpoint(int color, int key, const std::vector<int>&,
                                                        kernels::Device&, comm::LinkDeadlines) override {
    ++asked;
    return inner_.split_endpoint(color, key);
  }
  int asked = 0;
};

LayoutRequest request_of_two_stages() {
  LayoutRequest request;
  request.grid.pipeline = 2;
  request.microbatches = 2;
  request.policy = &policy_of_name("1f1b");
  return request;
}

/// How many a rank of a pipeline of two asks for before its run, and when its links are made.
std::array<int, 2> direct_links(PathChoice paths) {
  const LayoutRequest request = request_of_two_stages();
  const Layout layout = begin_layout(request, {});
  const ProcessGrid grid(request.grid);
  comm::LocalNetwork network(2);
  std::array<int, 2> asked{};
  comm::run_ranks(2, kLinkLimit_s, [&](comm::World& inner) {
    const auto device = kernels::create_cpu_device();
    DirectCount world(inner, {kLinkLimit_s});
    comm::PreparedWorld prepared(world, {kLinkLimit_s});
    prepare_groups(prepared, request, grid, paths, *device, kLinkLimit_s);
    const int before = world.asked;
    PipelineOptions options;
    options.paths = paths;
    const PipelineContext context{.options = options,
                                  .world = world,
                                  .device = *device,
                                  .transport = &network.transport(world.rank()),
                                  .peers = network.peers()};
    const PipelineLinks links(layout, grid, context);
    if (world.rank() == 0) asked = {before, world.asked - before};
  });
  return asked;
}

TEST(PipelineLinks, asks_for_none_between_gpus_where_delegates_have_all_messages) {
  EXPECT_EQ(direct_links(PathChoice::automatic), (std::array<int, 2>{1, 1}));
  EXPECT_EQ(direct_links(PathChoice::direct_only), (std::array<int, 2>{1, 1}));
  EXPECT_EQ(direct_links(PathChoice::delegated_only), (std::array<int, 2>{0, 0}));
}

}  // namespace
}  // namespace tenax::parallel
