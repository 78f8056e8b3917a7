// Where a deck's keys become the options of the parts below.
#include "app/options.hpp"
#include "app/fault_options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "comm/nccl.hpp"
#include "io/deck/deck.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/schedule/timeline.hpp"
#include "resilience/faults/link_faults.hpp"
#include "resilience/mitigation/strategy.hpp"

namespace tenax::app {
namespace {

bool has_weight_passes(const parallel::PipelineSchedule& schedule) {
  const auto& ops = schedule.ops_of_stage.front();
  return std::any_of(ops.begin(), ops.end(), [](const parallel::PipelineOp& op) {
    return op.pass == parallel::Pass::backward_weight;
  });
}

TEST(Options, every_schedule_of_a_deck_is_a_policy_that_splits_backward_passes_as_the_deck_believes) {
  io::Choice<io::Schedule> schedule = io::Schedule::gpipe;
  const auto words = schedule.words();
  ASSERT_EQ(words.size(), parallel::schedule_policies().size());
  for (const std::string& word : words) {
    ASSERT_TRUE(schedule.set(word));
    const parallel::SchedulePolicy& policy = parallel::policy_of_name(word);
    const auto costs = parallel::PipelineCosts::uniform(3, {0.01, 0.01, 0.01});
    EXPECT_EQ(has_weight_passes(parallel::plan_schedule(policy, 6, costs)), io::splits_backward(schedule))
        << word;
  }
}

// One host's hanging mount holds up the start of all replicas.
TEST(Options, replicas_wait_less_long_for_files_to_be_read) {
  io::Deck deck;
  deck.comm.deadline_s = 60;
  EXPECT_EQ(restore_patience_s(deck), file_patience_s(deck));
  deck.parallel.replicas = 4;
  EXPECT_EQ(restore_patience_s(deck), 600);
  EXPECT_EQ(file_patience_s(deck), 3600) << "a save's";
  deck.comm.deadline_s = 1000;
  EXPECT_EQ(restore_patience_s(deck), 3600);
}

TEST(Options, every_optimizer_of_a_deck_is_there) {
  io::Deck deck;
  const auto words = deck.optimizer.kind.words();
  ASSERT_EQ(words.size(), parallel::optimizers().size());
  for (const std::string& word : words) {
    ASSERT_TRUE(deck.optimizer.kind.set(word));
    EXPECT_EQ(optimizer_of(deck).name, word);
  }
}

// Gradients are summed while passes run; whoever wants the same bits has the order of sums pinned.
TEST(Options, nccl_keeps_its_order_for_deterministic_runs_and_overlaps_data_parallel_sums) {
  io::Deck deck;
  for (const bool deterministic : {false, true}) {
    deck.device.deterministic = deterministic;
    const comm::NcclUse use = nccl_use(deck);
    EXPECT_EQ(use.keeps_order, deterministic);
    EXPECT_EQ(use.overlapping, std::set<std::string>{"data"});
  }
}

TEST(Options, every_strategy_of_a_deck_is_allowed_and_a_restart_where_it_says_so) {
  io::Deck deck;
  EXPECT_EQ(allowed_strategies(deck.mitigate),
            (std::vector{resilience::Strategy::ring, resilience::Strategy::swap}));
  deck.mitigate.strategies.clear();
  for (const std::string& word : deck.mitigate.strategies.words()) deck.mitigate.strategies.add(word);
  deck.mitigate.restart = io::RestartElsewhere::exit;
  const std::vector<resilience::Strategy> all = allowed_strategies(deck.mitigate);
  EXPECT_TRUE(
      std::equal(all.begin(), all.end(), resilience::kStrategies.begin(), resilience::kStrategies.end()));
  for (std::size_t i = 0; i < deck.mitigate.strategies.words().size(); ++i)
    EXPECT_EQ(resilience::name_of(all[i]), deck.mitigate.strategies.words()[i]);
}

TEST(Options, strategies_that_replicas_do_not_use_are_told_of) {
  io::Deck deck;
  EXPECT_EQ(idle_strategies(deck), "");
  EXPECT_EQ(idle_strategies(deck), "") << "nobody has asked for these";
  deck.mitigate.strategies = {io::Mitigation::microbatches};
  EXPECT_NE(idle_strategies(deck).find("no effect under tenax launch"), std::string::npos);
  deck.mitigate.strategies.clear();
  EXPECT_EQ(idle_strategies(deck), "");
}

TEST(Options, a_fault_keeps_its_time_its_link_and_its_kind) {
  io::Deck deck;
  io::InjectEntry delay, cut;
  delay.kind = io::FaultKind::link_delay;
  delay.from_step = 3;
  delay.to_step = 9;
  delay.from_s = 1.5;
  delay.to_s = 60;
  delay.stages = {1, 2};
  delay.delay_ms = 30;
  delay.gbps = 10;
  cut.kind = io::FaultKind::link_down;
  cut.ranks = {0, 4};
  cut.path = "direct";
  deck.inject = {delay, cut};
  const auto requests = link_fault_requests(deck);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].window.from_step, 3);
  EXPECT_EQ(requests[0].window.to_step, 9);
  EXPECT_EQ(requests[0].window.from_s, 1.5);
  EXPECT_EQ(requests[0].window.to_s, 60);
  EXPECT_EQ(requests[0].stages, (std::vector<int>{1, 2}));
  EXPECT_DOUBLE_EQ(requests[0].delay_s, 0.03);
  EXPECT_EQ(requests[0].gbps, 10);
  EXPECT_TRUE(requests[0].down_path.empty());
  EXPECT_EQ(requests[1].ranks, (std::vector<int>{0, 4}));
  EXPECT_EQ(requests[1].down_path, "direct");
}

io::InjectEntry link_fault(io::FaultKind kind, std::vector<std::int64_t> ranks,
                           const std::string& path = "") {
  io::InjectEntry fault;
  fault.kind = kind;
  fault.ranks = std::move(ranks);
  fault.path = path;
  return fault;
}

// Ranks 0 and 1 are of one data group, 0 and 2 of one pipeline of three stages, whose ends share the embedding.
TEST(Options, link_faults_between_ranks_that_have_none_of_that_kind_are_told_of) {
  io::Deck deck;
  deck.parallel.pipeline_parallel_size = 3;
  deck.parallel.data_parallel_size = 2;
  io::InjectEntry of_stages;
  of_stages.kind = io::FaultKind::link_down;
  of_stages.stages = {0, 1};
  of_stages.path = "direct";
  const auto delay = io::FaultKind::link_delay, down = io::FaultKind::link_down;
  deck.inject = {link_fault(delay, {1, 0}),          link_fault(delay, {2, 0}),
                 link_fault(delay, {0, 4}),          link_fault(delay, {0, 3}),
                 link_fault(down, {0, 1}, "tcp"),    link_fault(down, {0, 1}, "direct"),
                 link_fault(down, {0, 2}, "direct"), of_stages};
  EXPECT_EQ(faults_without_link(deck),
            (std::vector<std::string>{"inject.3: ranks 0 and 3 are in no common tensor or data group and no "
                                      "neighbours in a pipeline: it has no effect unless ranks change places",
                                      "inject.5: ranks 0 and 1 are no neighbours in a pipeline: it has no "
                                      "effect unless ranks change places"}));
}

TEST(Options, paths_down_that_are_nobodys_are_told_of) {
  io::Deck deck;
  const auto down = io::FaultKind::link_down;
  for (const char* const path : {"direct", "verbs", "10.0.0.5", "10.0.0.6"})
    deck.inject.push_back(link_fault(down, {0, 1}, path));
  const comm::Peer peer{.rank = 1, .name = "rank 1", .addresses = {"tcp:10.0.0.5:4000#7f3a"}};
  EXPECT_EQ(faults_without_path(deck, {peer}),
            std::vector<std::string>{"inject.3.path = \"10.0.0.6\" is no address that a rank of this run is "
                                     "connected by: it has no effect here"});
  EXPECT_EQ(faults_without_path(deck, {}).size(), 2U) << "nobody listens";
}

TEST(Options, a_slow_rank_is_that_of_its_number_in_every_replica_or_one) {
  io::Deck deck;
  io::InjectEntry everywhere, somewhere;
  everywhere.kind = somewhere.kind = io::FaultKind::slow_compute;
  everywhere.rank = 2;
  everywhere.factor = 1.5;
  everywhere.to_s = 7;
  somewhere.replica = 1;
  somewhere.factor = 2;
  deck.inject = {everywhere, somewhere};
  ASSERT_EQ(compute_faults(deck, 0, 2).size(), 1u);
  EXPECT_EQ(compute_faults(deck, 1, 2)[0].factor, 1.5);
  EXPECT_EQ(compute_faults(deck, 1, 2)[0].window.to_s, 7);
  EXPECT_TRUE(compute_faults(deck, 0, 0).empty());
  ASSERT_EQ(compute_faults(deck, 1, 0).size(), 1u);
  EXPECT_EQ(compute_faults(deck, 1, 0)[0].factor, 2);
}

TEST(Options, delegates_leave_a_link_only_where_the_deck_says_automatic) {
  io::Deck deck;
  deck.parallel.pipeline_parallel_size = 2;
  deck.batch.global_batch_size = 4;
  deck.model.num_layers = 2;
  for (const auto p2p : {io::P2p::direct, io::P2p::delegated, io::P2p::automatic}) {
    deck.pipeline.p2p = p2p;
    EXPECT_EQ(layout_request(deck).fails_over, p2p == io::P2p::automatic);
  }
}

/// Of a healthy pipeline of 4 stages whose passes take 10 ms, with messages of so many bytes over links of 1 Gbit/s.
double predicted_ms(std::int64_t bytes, io::P2p p2p) {
  io::Deck deck;
  deck.parallel.pipeline_parallel_size = 4;
  deck.batch.global_batch_size = 12;
  deck.model.num_layers = 4;
  deck.device.kind = io::DeviceKind::emulated;
  deck.device.forward_ms = deck.device.backward_input_ms = deck.device.backward_weight_ms = {10};
  deck.device.activation_bytes = bytes;
  deck.device.link_gbps = 1;
  deck.pipeline.p2p = p2p;
  const parallel::Layout layout = plan_layout(deck, 0, std::size_t{0});
  return 1e3 * parallel::simulate(layout.schedule, layout.costs, healthy_transfers(deck, layout)).makespan_s;
}

TEST(Options, messages_that_take_longer_than_passes_are_known_to_wait_for_the_wire_that_delegates_share) {
  constexpr std::int64_t kMessage = 5'000'000;  // 40 ms
  EXPECT_NEAR(predicted_ms(kMessage, io::P2p::direct), 1140, 1);
  EXPECT_NEAR(predicted_ms(kMessage, io::P2p::delegated), 772, 10) << "as emulated ranks take";
  EXPECT_EQ(predicted_ms(kMessage, io::P2p::automatic), predicted_ms(kMessage, io::P2p::delegated))
      << "these links are delegated from the start on";
  EXPECT_EQ(predicted_ms(0, io::P2p::automatic), predicted_ms(0, io::P2p::direct));
}

}  // namespace
}  // namespace tenax::app
