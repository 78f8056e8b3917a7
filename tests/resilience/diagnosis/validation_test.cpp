// Validation on ranks that are threads: eight emulated ones, two stages, each a ring of four that sums gradients; and
// four on the host.
#include "resilience/diagnosis/validation.hpp"

#include <gtest/gtest.h>

#include "resilience/faults/compute_faults.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/resilience/diagnosis/emulated_groups.hpp"
#include "tests/resilience/diagnosis/made_up_ranks.hpp"
#include "tests/resilience/faults/injected_ranks.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;
using parallel::ProcessGrid;

constexpr int kEmulatedRanks = 8;

/// What is slow takes more than five times as long, and no message of a healthy link less than 10 ms there and back, so
/// that a busy machine, which wakes threads late, can tell it.
ValidationRequest request() {
  ValidationRequest request;
  request.suspect = 5;
  request.seconds = 10;
  request.probe_mb = {1, 2, 4};
  request.data_bytes_per_s = 1e8;
  return request;
}
constexpr int kNobody = -1;

Suspects whole_groups(const ProcessGrid& grid) {
  Suspects suspects;
  for (const int rank : {0, kEmulatedRanks - 1})
    suspects.groups.push_back(
        {.kind = GroupKind::data, .ranks = grid.group(GroupKind::data, rank), .factor = 3});
  return suspects;
}

/// Rank 0's answer.
ValidationResult validated(const ValidationRequest& request, const ProcessGrid& grid, int slow_rank,
                           comm::OnSend on_send = {}) {
  comm::LocalNetwork network(kEmulatedRanks, std::move(on_send));
  ValidationResult result;
  comm::run_ranks(kEmulatedRanks, kPatience_s, [&](comm::World& world) {
    const int rank = world.rank();
    ComputeFaults faults({{.window = {}, .factor = rank == slow_rank ? 8.0 : 1.0, .trace = nullptr}});
    const auto device = faults.wrap(kernels::create_emulated_device({.probe_s = 0.02}));
    const auto control = world.control_group();
    DeviceProbe probe(*device);
    const auto ring =
        make_ring(network, "data." + std::to_string(grid.split(GroupKind::data, rank).color),
                  grid.group(GroupKind::data, rank), grid.coordinates_of(rank).data, *device, kLink_gbps);
    faults.begin_step(0);
    const ValidationRequest nobodys;
    const auto mine =
        validate(rank == 0 ? request : nobodys,
                 {.control = *control,
                  .grid = grid,
                  .device = *device,
                  .probe = probe,
                  .group = [&](GroupKind kind) { return kind == GroupKind::data ? ring.get() : nullptr; },
                  .deadline_s = kPatience_s});
    if (rank == 0) result = mine;
  });
  return result;
}

TEST(Validation, finds_a_slow_rank_and_a_slow_link_and_nothing_else) {
  const ProcessGrid grid({.tensor = 1, .pipeline = 2, .data = 4});
  const std::vector<int> ring = grid.group(GroupKind::data, 0);
  const int a = std::min(ring[0], ring[1]), b = std::max(ring[0], ring[1]);
  const int slow_rank = kEmulatedRanks - 1;
  ValidationRequest asked = request();
  asked.suspects = whole_groups(grid);
  const ValidationResult result = validated(asked, grid, slow_rank, slow_between(a, b));
  const std::vector<std::string> both = {"rank " + std::to_string(slow_rank) + " compute",
                                         "data link " + std::to_string(a) + "-" + std::to_string(b)};
  ASSERT_EQ(words_of(Suspects{.components = result.components, .groups = {}}), both);
  EXPECT_NEAR(result.components[0].factor, 8, 1);
  EXPECT_GT(result.components[1].factor, 5);
  EXPECT_EQ(result.tested, std::vector<std::string>{"data"});
  EXPECT_GT(result.seconds, 0);
}

TEST(Validation, finds_nothing_where_all_is_well_again) {
  const ProcessGrid grid({.tensor = 1, .pipeline = 2, .data = 4});
  ValidationRequest asked = request();
  asked.suspects = whole_groups(grid);
  asked.suspects.components.push_back(
      {.kind = Component::Kind::rank, .rank = 2, .factor = 3, .healthy_s = 0.1});
  const ValidationResult result = validated(asked, grid, kNobody, slow_between(kNobody, kNobody));
  EXPECT_EQ(words_of(Suspects{.components = result.components, .groups = {}}), std::vector<std::string>{});
  EXPECT_FALSE(result.is_common);
}

TEST(Validation, tests_no_links_where_a_rank_alone_is_suspect) {
  const ProcessGrid grid({.tensor = 1, .pipeline = 2, .data = 4});
  ValidationRequest asked = request();
  asked.suspects.components.push_back(
      {.kind = Component::Kind::rank, .rank = 2, .factor = 3, .healthy_s = 0.1});
  const ValidationResult result = validated(asked, grid, 2);
  ASSERT_EQ(result.components.size(), 1U);
  EXPECT_EQ(result.components[0].rank, 2);
  EXPECT_EQ(result.components[0].factor, 3) << "profiling's";
  EXPECT_TRUE(result.tested.empty());
}

TEST(Validation, keeps_to_its_time_however_slow_a_link_is) {
  const ProcessGrid grid({.tensor = 1, .pipeline = 2, .data = 4});
  ValidationRequest asked = request();
  asked.suspects = whole_groups(grid);
  asked.seconds = 2;
  asked.probe_mb = {16, 32, 64};
  asked.data_bytes_per_s = 0;  // 64 MB would take 0.6 s each
  const ValidationResult result = validated(asked, grid, kNobody, slow_between(0, 1));
  EXPECT_LT(result.seconds, 20) << "else 15 s for the last size alone, and machines are busy";
}

// Four ranks on the host, whose collectives exchange between all pairs. A busy machine may slow their products down, and
// their links now and then.
TEST(Validation, finds_a_slow_link_among_all_pairs_on_the_host) {
  const ProcessGrid grid({.tensor = 1, .pipeline = 1, .data = 4});
  LinkFault usual = slow(kWay_s);
  usual.links = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  LinkFault one = slow(kSlowWay_s - kWay_s);
  one.links = {{1, 3}};
  run_injected(4, {usual, one}, [&](World& world, FaultInjector& injector) {
    const auto device = kernels::create_cpu_device();
    const auto control = world.control_group();
    const auto group = world.split_communicator("data", 0, world.rank(), *device);
    DeviceProbe probe(*device);
    injector.begin_step(0);
    ValidationRequest asked = request();
    asked.suspects.groups.push_back({.kind = GroupKind::data, .ranks = {0, 1, 2, 3}, .factor = 3});
    asked.probe_mb = {0.1, 0.4};
    const auto slow_links = [&] {
      ValidationResult result = validate(
          asked, {.control = *control,
                  .grid = grid,
                  .device = *device,
                  .probe = probe,
                  .group = [&](GroupKind kind) { return kind == GroupKind::data ? group.get() : nullptr; },
                  .deadline_s = kPatience_s});
      std::erase_if(result.components, [](const Component& part) { return !part.is_link(); });
      return words_of(Suspects{.components = result.components, .groups = {}});
    };
    const std::vector<std::string> expected = {"data link 1-3"};
    std::vector<std::string> found;
    for (int trial = 0; trial < 3 && found != expected; ++trial) found = slow_links();
    EXPECT_EQ(found, expected);
  });
}

}  // namespace
}  // namespace tenax::resilience
