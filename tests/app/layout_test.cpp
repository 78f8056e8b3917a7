#include "parallel/replica/layout.hpp"

#include <gtest/gtest.h>

#include "app/machine/device_choice.hpp"
#include "app/options.hpp"
#include "kernels/cuda_device.hpp"
#include "kernels/error.hpp"
#include "parallel/replica/swap_memory.hpp"
#include "tests/app/small_deck.hpp"

namespace tenax::app {
namespace {

constexpr double kFlopPerSecond = 1e11;
constexpr std::size_t kPlenty = std::size_t{1} << 40;

TEST(Layout, stages_hold_consecutive_blocks_and_every_parameter_once) {
  for (const int tensor : {1, 2}) {
    const parallel::Layout layout = plan_layout(small_deck(tensor, 4, 1), kFlopPerSecond, kPlenty);
    std::int64_t next = 0;
    for (const model::StageSpan& span : layout.spans) {
      EXPECT_EQ(span.first_layer, next);
      next = span.end_layer;
    }
    EXPECT_EQ(next, 8);
    EXPECT_TRUE(layout.spans.front().has_embedding && layout.spans.back().has_head);
  }
  const parallel::Layout alone = plan_layout(small_deck(1, 1, 1), kFlopPerSecond, kPlenty);
  const std::int64_t padding = (alone.config.padded_vocab_size(1) - 500) * 64;
  EXPECT_EQ(alone.parameters_of_stage.front(), alone.config.parameters() + padding);
}

TEST(Layout, the_optimizer_is_sharded_over_the_data_group) {
  const parallel::Layout one = plan_layout(small_deck(1, 1, 1), kFlopPerSecond, kPlenty);
  const parallel::Layout four = plan_layout(small_deck(1, 1, 4), kFlopPerSecond, kPlenty);
  const double ratio = static_cast<double>(one.memory_of_stage[0].state.optimizer) /
                       static_cast<double>(four.memory_of_stage[0].state.optimizer);
  EXPECT_NEAR(ratio, 4, 0.1);
  EXPECT_EQ(four.schedule.microbatches(), 6);
  EXPECT_EQ(one.traffic_of_stage[0].data, 0);
  EXPECT_GT(four.traffic_of_stage[0].data, 0);
}

// As NCCL's ring: each rank sends 2 (R - 1) / R of what it has.
TEST(Layout, a_rank_sends_its_share_of_the_gradient_to_other_replicas_twice_but_for_its_own_part) {
  io::Deck three = small_deck(1, 1, 2);
  three.parallel.replicas = 3;
  const parallel::StepTraffic fp32 = plan_layout(three, kFlopPerSecond, kPlenty).traffic_of_stage[0];
  const double parameters =
      static_cast<double>(plan_layout(three, kFlopPerSecond, kPlenty).parameters_of_stage[0]);
  EXPECT_NEAR(fp32.replica, parameters / 2 * 4 * 2 * 2 / 3, parameters / 100);
  three.replicas.wire_dtype = io::ComputeDtype::bf16;
  EXPECT_EQ(plan_layout(three, kFlopPerSecond, kPlenty).traffic_of_stage[0].replica, fp32.replica / 2);
  EXPECT_EQ(plan_layout(small_deck(1, 1, 2), kFlopPerSecond, kPlenty).traffic_of_stage[0].replica, 0);
}

TEST(Layout, live_activations_stay_within_the_decks_limit_and_within_memory) {
  io::Deck limited = small_deck(1, 4, 1);
  limited.pipeline.activation_limit = {3};
  for (const parallel::RankMemory& memory : plan_layout(limited, kFlopPerSecond, kPlenty).memory_of_stage)
    EXPECT_LE(memory.slots, 3);
  io::Deck fixed = small_deck(1, 4, 1);
  fixed.pipeline.schedule = io::Schedule::zero_bubble;
  fixed.pipeline.p2p = io::P2p::direct;
  const parallel::Layout roomy = plan_layout(fixed, kFlopPerSecond, kPlenty);
  EXPECT_EQ(roomy.memory_of_stage.front().slots, 7);  // 2S - 1
  const std::size_t two_slots = roomy.memory_of_stage.front().state.total() +
                                roomy.memory_of_stage.front().scratch +
                                roomy.memory_of_stage.front().activations * 2 / 7;
  const parallel::Layout tight = plan_layout(fixed, kFlopPerSecond, two_slots);
  EXPECT_EQ(tight.memory_of_stage.front().slots, 2);
}

TEST(Layout, an_adaptive_pipeline_takes_the_slack_that_memory_has_room_for) {
  io::Deck adaptive = small_deck(1, 4, 1);
  adaptive.pipeline.p2p = io::P2p::direct;
  const parallel::Layout roomy = plan_layout(adaptive, kFlopPerSecond, kPlenty);
  EXPECT_EQ(roomy.memory_of_stage.front().slots, roomy.schedule.microbatches());
  const parallel::RankMemory& first = roomy.memory_of_stage.front();
  const std::size_t eleven_slots =
      first.state.total() + first.scratch + first.activations * 11 / static_cast<std::size_t>(first.slots);
  const parallel::Layout tighter = plan_layout(adaptive, kFlopPerSecond, eleven_slots);
  EXPECT_EQ(tighter.limit.microbatches(0), 9);  // the 2S - 1 of zero_bubble, and half of the rest
}

TEST(Layout, a_schedule_that_exceeds_the_limit_is_the_decks_fault_or_the_machines) {
  io::Deck gpipe = small_deck(1, 4, 1);
  gpipe.pipeline.schedule = io::Schedule::gpipe;
  const auto status = [](const io::Deck& d, std::size_t memory) {
    try {
      plan_layout(d, kFlopPerSecond, memory);
    } catch (const kernels::Error& error) {
      return error.exit_status();
    }
    return 0;
  };
  EXPECT_EQ(status(gpipe, kPlenty), 0);
  EXPECT_EQ(status(gpipe, 1 << 20), 1);
  gpipe.pipeline.activation_limit = {2};
  EXPECT_EQ(status(gpipe, kPlenty), 2);
}

TEST(Layout, what_pipelines_may_take_from_others_is_no_more_than_the_limit_lets_them_hold) {
  io::Deck gpipe = small_deck(1, 2, 2);
  gpipe.pipeline.schedule = io::Schedule::gpipe;
  gpipe.mitigate.strategies = {io::Mitigation::microbatches};
  const parallel::Layout free = plan_layout(gpipe, kFlopPerSecond, kPlenty);
  const int share = free.schedule.microbatches();
  EXPECT_GT(free.most_microbatches, share + 1);
  for (const int more : {0, 1}) {
    gpipe.pipeline.activation_limit = {share + more};
    EXPECT_EQ(plan_layout(gpipe, kFlopPerSecond, kPlenty).most_microbatches, share + more);
  }
}

TEST(Layout, refuses_a_limit_that_only_steps_after_a_loss_exceed_and_says_so) {
  io::Deck gpipe = small_deck(1, 2, 1);
  gpipe.pipeline.schedule = io::Schedule::gpipe;
  gpipe.parallel.replicas = 2;
  const int share = plan_layout(gpipe, kFlopPerSecond, kPlenty).schedule.microbatches();
  gpipe.pipeline.activation_limit = {share};
  for (const bool is_emulated : {false, true}) {
    if (is_emulated) gpipe.device.kind = io::DeviceKind::emulated;
    try {
      plan_layout(gpipe, kFlopPerSecond, kPlenty);
      ADD_FAILURE() << "no error, emulated: " << is_emulated;
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.exit_status(), 2);
      EXPECT_NE(std::string(error.what()).find("once other replicas are lost"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Layout, what_the_hosts_memory_does_not_hold_is_planned_and_can_be_summed_up) {
  io::Deck gpipe = small_deck(1, 4, 1);
  gpipe.pipeline.schedule = io::Schedule::gpipe;
  parallel::MemoryRoom tight(1 << 20);
  tight.is_firm = false;
  const parallel::Layout layout = plan_layout(gpipe, kFlopPerSecond, tight);
  EXPECT_EQ(layout.memory_of_stage.front().total(),
            plan_layout(gpipe, kFlopPerSecond, kPlenty).memory_of_stage.front().total());
}

TEST(Layout, what_operations_need_of_the_device_is_counted_before_activations) {
  io::Deck fixed = small_deck(2, 4, 1);
  fixed.pipeline.schedule = io::Schedule::zero_bubble;
  fixed.pipeline.p2p = io::P2p::direct;
  constexpr std::size_t kWorkspace = std::size_t{1} << 20;
  parallel::MemoryRoom room = kPlenty;
  std::vector<kernels::StepShape> asked;
  room.workspace_bytes = [&](const kernels::StepShape& shape) {
    asked.push_back(shape);
    return kWorkspace;
  };
  const parallel::RankMemory roomy = plan_layout(fixed, kFlopPerSecond, room).memory_of_stage.front();
  EXPECT_EQ(roomy.workspace, kWorkspace);
  EXPECT_EQ(roomy.total(), roomy.state.total() + roomy.activations + roomy.scratch + kWorkspace);
  ASSERT_EQ(asked.size(), 4u);
  EXPECT_EQ(asked[0].heads, 2);  // of this rank
  EXPECT_EQ(asked[0].head_size, 16);
  EXPECT_EQ(asked[0].sequences, 1);
  EXPECT_EQ(asked[0].length, 32);
  EXPECT_EQ(asked[0].hidden_size, 64);
  EXPECT_TRUE(asked[0].has_embedding && !asked[1].has_embedding && !asked[3].has_embedding);

  room.device = roomy.state.total() + roomy.scratch + kWorkspace + 2 * roomy.activations / 7;
  EXPECT_EQ(plan_layout(fixed, kFlopPerSecond, room).memory_of_stage.front().slots, 2);
}

TEST(Layout, messages_that_a_stage_keeps_are_scratch_where_direct_paths_can_be_left) {
  io::Deck gpipe = small_deck(1, 3, 1);
  gpipe.pipeline.schedule = io::Schedule::gpipe;  // all stages hold all microbatches
  const parallel::Layout leaves = plan_layout(gpipe, kFlopPerSecond, kPlenty);
  gpipe.pipeline.p2p = io::P2p::direct;
  const parallel::Layout stays = plan_layout(gpipe, kFlopPerSecond, kPlenty);
  const auto message = static_cast<std::size_t>(leaves.microbatch.rows() * leaves.config.hidden_size) * 4;
  for (const std::size_t stage : {0, 1, 2})
    EXPECT_EQ(leaves.memory_of_stage[stage].scratch - stays.memory_of_stage[stage].scratch,
              (stage == 1 ? 4 : 2) * message);
}

TEST(Layout, the_host_has_room_for_activations_beside_the_copy_that_checkpoints_are_written_from) {
  constexpr std::size_t kHost = std::size_t{1} << 24;
  const parallel::Layout on_gpu = plan_layout(small_deck(1, 2, 1), kFlopPerSecond, {kPlenty, kHost});
  const parallel::RankMemory& memory = on_gpu.memory_of_stage.front();
  // fp32: the master weights are the weights, the moments as much again, twice.
  EXPECT_EQ(memory.host_state, memory.state.weights + memory.state.optimizer);
  EXPECT_EQ(on_gpu.slot_room_of_stage.front().host_bytes, kHost - memory.host_state);
  EXPECT_EQ(
      plan_layout(small_deck(1, 2, 1), kFlopPerSecond, {kPlenty, 1}).slot_room_of_stage.front().host_bytes,
      0u);
  EXPECT_EQ(plan_layout(small_deck(1, 2, 1), kFlopPerSecond, kPlenty).memory_of_stage.front().host_state, 0u);
}

TEST(SlotRoom, of_a_single_slot_has_it_on_the_device_however_small_that_is) {
  parallel::SlotRoom room;
  room.device_bytes = 100;
  room.host_bytes = 1000;
  room.slot_bytes = 150;
  room.boundary_bytes = 1;
  EXPECT_EQ(room.on_device(1), 1);
  EXPECT_EQ(room.on_device(2), 2);
  EXPECT_EQ(room.on_device(3), 2);
}

TEST(Layout, a_microbatch_that_does_not_fit_a_gpu_is_refused_with_that_gpus_memory) {
  const auto refusal = [](const io::Deck& deck, std::size_t device_bytes) -> std::string {
    try {
      plan_layout(deck, kFlopPerSecond, {device_bytes, kPlenty});
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.exit_status(), 1);
      return error.what();
    }
    return {};
  };
  const io::Deck alone = small_deck(1, 1, 1);
  parallel::MemoryRoom roomy(kPlenty, kPlenty);
  roomy.habits.fuses_backward = true;
  const std::size_t needed = plan_layout(alone, kFlopPerSecond, roomy).memory_of_stage.front().total();
  EXPECT_NE(refusal(alone, needed / 2).find("of its GPU's memory, a rank has"), std::string::npos);
  EXPECT_NE(refusal(alone, std::size_t{1} << 20).find("a rank has 1 MiB there"), std::string::npos);
  // Two activations take turns on the device, however many are live.
  io::Deck pipeline = small_deck(1, 2, 1);
  const parallel::RankMemory stage =
      plan_layout(pipeline, kFlopPerSecond, {kPlenty, kPlenty}).memory_of_stage.front();
  pipeline.pipeline.activation_limit = {4};
  EXPECT_NE(refusal(pipeline, stage.state.total() + stage.scratch).find("pipeline stage 0"),
            std::string::npos);
  EXPECT_EQ(refusal(pipeline, kPlenty), "");
}

/// What a rank takes besides when it goes to a place of its own stage.
std::size_t new_for_same_stage(const parallel::RankMemory& memory) {
  return memory.state.optimizer + memory.scratch + memory.workspace;
}

TEST(Layout, a_swap_of_ranks_takes_another_optimizer_state_and_what_the_rank_has_too_little_of) {
  const parallel::Layout layout = plan_layout(small_deck(1, 2, 2), kFlopPerSecond, kPlenty);
  const auto& stages = layout.memory_of_stage;
  ASSERT_GT(stages[0].state.weights, stages[1].state.weights);
  // Host memory grows in place; the last stage's slots, which hold logits, are larger than the first one's.
  const std::size_t to_first =
      new_for_same_stage(stages[0]) + 2 * (stages[0].state.weights - stages[1].state.weights) +
      (stages[0].activations - stages[1].slots * (stages[0].activations / stages[0].slots));
  // The first stage's optimizer state, for which there is room in any place, is larger as well.
  const std::size_t to_last = new_for_same_stage(stages[1]) + stages[1].activations +
                              stages[0].state.optimizer - stages[1].state.optimizer;
  EXPECT_EQ(parallel::swap_bytes(layout, kPlenty), std::max(to_first, to_last));
  const std::size_t room = std::max(stages[1].total() + to_first, stages[0].total() + to_last);
  EXPECT_EQ(parallel::swap_bytes(layout, room), std::max(to_first, to_last));
  EXPECT_EQ(parallel::swap_bytes(layout, room - 1), std::nullopt);
}

TEST(Layout, memory_for_a_swap_is_kept_where_the_deck_allows_one_and_it_fits) {
  const auto kept = [](const io::Deck& deck, bool swap_fits = true) {
    return spare_bytes(deck, plan_layout(deck, kFlopPerSecond, kPlenty), swap_fits);
  };
  io::Deck pipeline = small_deck(1, 2, 2);
  const parallel::Layout layout = plan_layout(pipeline, kFlopPerSecond, kPlenty);
  EXPECT_EQ(kept(pipeline), layout.memory_of_stage[0].state.optimizer);
  EXPECT_LT(kept(pipeline), parallel::swap_bytes(layout, kPlenty));
  EXPECT_EQ(kept(pipeline, false), 0U);
  EXPECT_EQ(kept(small_deck(2, 1, 2)), 0U);
  pipeline.mitigate.strategies = {io::Mitigation::ring};
  EXPECT_EQ(kept(pipeline), 0U);
  io::Deck replicas = small_deck(1, 2, 2);
  replicas.parallel.replicas = 2;
  EXPECT_EQ(kept(replicas), 0U);
}

TEST(Layout, a_swap_of_ranks_on_gpus_takes_pinned_memory_and_all_of_a_larger_stage) {
  const parallel::Layout layout = plan_layout(small_deck(1, 2, 2), kFlopPerSecond, {kPlenty, kPlenty});
  const auto& stages = layout.memory_of_stage;
  EXPECT_GT(parallel::swap_bytes(layout, {kPlenty, kPlenty}), stages[0].state.total() + stages[0].host_state);
  EXPECT_EQ(parallel::swap_bytes(layout, {kPlenty, stages[0].host_state}), std::nullopt);
  const parallel::Layout alone = plan_layout(small_deck(1, 1, 2), kFlopPerSecond, {kPlenty, kPlenty});
  const parallel::RankMemory& stage = alone.memory_of_stage.front();
  EXPECT_EQ(parallel::swap_bytes(alone, {kPlenty, kPlenty}), new_for_same_stage(stage) + stage.host_state);
}

TEST(Layout, a_swap_of_ranks_takes_weights_too_where_those_are_smaller_than_gradients) {
  io::Deck bf16 = small_deck(1, 1, 2);
  bf16.model.compute_dtype = io::ComputeDtype::bf16;
  const parallel::Layout layout = plan_layout(bf16, kFlopPerSecond, kPlenty);
  const parallel::RankMemory& stage = layout.memory_of_stage.front();
  EXPECT_EQ(parallel::swap_bytes(layout, kPlenty), new_for_same_stage(stage) + stage.state.weights);
}

TEST(Layout, of_a_deck_for_gpus_counts_a_gpus_workspace_where_there_is_none) {
  io::Deck large = small_deck(1, 1, 1);
  large.model.compute_dtype = io::ComputeDtype::bf16;
  large.model.hidden_size = 256;
  large.model.seq_length = 1024;
  large.batch.micro_batch_size = 24;
  large.detect.enabled = false;
  for (const bool deterministic : {true, false}) {
    large.device.deterministic = deterministic;
    const parallel::Layout layout = plan_layout(large, kFlopPerSecond, memory_room_on_paper(large));
    const kernels::StepShape shape{kernels::DType::bf16, 24, 1024, 256, 4, 64, true};
    EXPECT_EQ(layout.memory_of_stage.front().workspace, kernels::cuda_scratch_bytes(shape, deterministic));
    EXPECT_GT(layout.memory_of_stage.front().host_state, 0u);
  }
}

TEST(Layout, of_a_stage_that_never_splits_its_backward_passes_has_attentions_gradient_beside_its_input) {
  io::Deck deck = small_deck(1, 1, 1);
  bool overwrites_qkv = false;
  parallel::MemoryRoom room(kPlenty, kPlenty);
  room.workspace_bytes = [&](const kernels::StepShape& shape) {
    return overwrites_qkv = shape.overwrites_qkv, 0;
  };
  const auto expect = [&](bool in_place) {
    plan_layout(deck, kFlopPerSecond, room);
    EXPECT_EQ(overwrites_qkv, in_place);
  };
  expect(true);
  room.habits.fuses_backward = true;
  expect(false);
  deck.model.ffn_hidden_size = 3 * 64 - 4;
  expect(true);  // the scratch is too narrow
  deck.model.ffn_hidden_size = 3 * 64;
  expect(false);
  deck.parallel.pipeline_parallel_size = 2;
  expect(true);
  deck.device.recompute = io::Recompute::gelu_layernorm;
  deck.pipeline.schedule = io::Schedule::one_f_one_b;
  expect(false);
}

TEST(ComputeHabits, of_a_gpu_are_as_many_rows_of_logits_as_take_little_of_its_memory_in_every_run) {
  io::Deck deck = small_deck(1, 1, 1);
  deck.model.vocab_size = 50257;  // 50304 columns
  deck.model.compute_dtype = io::ComputeDtype::bf16;
  const auto rows = [&deck](std::size_t gib) {
    return compute_habits(deck, kernels::DeviceKind::cuda, gib << 30).logit_rows;
  };
  EXPECT_EQ(rows(139), 16384);  // an H200; 1.5 GiB
  EXPECT_EQ(rows(79), 16384);   // an H100
  EXPECT_EQ(rows(40), 8192);
  EXPECT_EQ(rows(10), 4096);
  EXPECT_EQ(rows(1), 4096) << "the least";
  deck.model.compute_dtype = io::ComputeDtype::fp32;
  EXPECT_EQ(rows(139), 8192);
  deck.parallel.tensor_parallel_size = 2;
  EXPECT_EQ(rows(139), 16384);
  EXPECT_EQ(memory_room_on_paper(deck).habits.logit_rows, 16384);
  EXPECT_EQ(compute_habits(deck, kernels::DeviceKind::cpu, kPlenty).logit_rows,
            model::GptConfig{}.logit_rows);
}

TEST(Layout, what_tests_of_a_device_keep_counts_before_activations_and_is_no_workspace) {
  io::Deck watched = small_deck(1, 1, 1);
  parallel::MemoryRoom room = kPlenty;
  const parallel::RankMemory without = plan_layout(watched, kFlopPerSecond, room).memory_of_stage.front();
  room.probe_bytes = probe_bytes(watched, kernels::DeviceKind::cpu, room);
  EXPECT_EQ(room.probe_bytes, 3u * 768 * 768 * (4 + 2));
  const parallel::RankMemory with = plan_layout(watched, kFlopPerSecond, room).memory_of_stage.front();
  EXPECT_EQ(with.total(), without.total() + room.probe_bytes);
  EXPECT_EQ(with.workspace, without.workspace) << "a replica's, which has no part in those tests";
  room.device = with.total() - 1;
  EXPECT_EQ(plan_layout(watched, kFlopPerSecond, room).slot_room_of_stage.front().device_bytes,
            with.activations - 1);
  const std::size_t workspace = kernels::cuda_scratch_bytes({}, watched.device.deterministic);
  EXPECT_GT(workspace, 0u);
  EXPECT_EQ(memory_room_on_paper(watched).probe_bytes, 3u * 2048 * 2048 * (4 + 2) + workspace);
  EXPECT_EQ(probe_bytes(watched, kernels::DeviceKind::emulated, room), 0u);
  watched.detect.enabled = false;
  EXPECT_EQ(probe_bytes(watched, kernels::DeviceKind::cpu, room), 0u);
}

}  // namespace
}  // namespace tenax::app
