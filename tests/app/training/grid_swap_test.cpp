// Ranks that change places while they train.
#include "app/training/grid_swap.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <mutex>

#include "app/options.hpp"
#include "app/training/initial_weights.hpp"
#include "app/training/step_vote.hpp"
#include "io/deck/deck.hpp"
#include "kernels/device.hpp"
#include "kernels/emulated_device.hpp"
#include "kernels/random.hpp"
#include "parallel/replica/emulated_replica.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "tests/comm/emulated/emulated_network.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::app {
namespace {

using Permutation = std::vector<int>;
using kernels::Deadline;

constexpr double kDeadline_s = 60;
constexpr std::size_t kPlenty = std::size_t{1} << 40;
constexpr int kRanks = 8;
const Permutation kIdentity = {0, 1, 2, 3, 4, 5, 6, 7};

io::Deck small_deck() {
  io::Deck deck;
  deck.model.num_layers = 4;
  deck.model.hidden_size = 32;
  deck.model.num_attention_heads = 4;
  deck.model.ffn_hidden_size = 64;
  deck.model.seq_length = 16;
  deck.model.vocab_size = 97;
  deck.batch.micro_batch_size = 1;
  deck.batch.global_batch_size = 8;
  deck.parallel = {2, 2, 2, 1};
  deck.comm.deadline_s = kDeadline_s;
  return deck;
}

/// Tensor groups `a` and `b`, of ranks 2 a, 2 a + 1 and so on, in each other's places.
Permutation swapped(int a, int b) {
  Permutation permutation = kIdentity;
  for (int i = 0; i < 2; ++i)
    std::swap(permutation[static_cast<std::size_t>(2 * a + i)],
              permutation[static_cast<std::size_t>(2 * b + i)]);
  return permutation;
}

/// What a run leaves behind.
struct Result {
  std::vector<double> losses, norms;              // rank 0's, a step each
  std::map<int, std::vector<float>> state;        // by position, master weights and moments
  std::map<int, std::vector<std::byte>> weights;  // by position, all that the stage reads
  std::vector<GridSwap::Outcome> outcomes = {};   // by rank, of the last change
  bool operator==(const Result& other) const {
    return losses == other.losses && norms == other.norms && state == other.state && weights == other.weights;
  }
};

/// Where a rank has its state.
struct Addresses {
  const void *weights, *gradients, *moments;
  bool operator==(const Addresses&) const = default;
};

/// Two steps before each change of places, and two after the last.
struct Course {
  using Hook = std::function<void(int rank, const parallel::ProcessGrid& grid)>;
  std::vector<Permutation> changes;  // an empty one: none
  comm::OnSend on_send = {};
  Hook on_build = {}, on_moved = {};  // may throw; on_moved: all has come, and nothing is decided
  std::function<void(int rank, const Addresses& before, const Addresses& after)> on_change = {};
  io::ComputeDtype dtype = io::ComputeDtype::fp32;
  std::function<std::unique_ptr<kernels::Device>()> create_device = kernels::create_cpu_device;
  bool keeps_spare = false;
};

io::Deck deck_of(const Course& course) {
  io::Deck deck = small_deck();
  deck.model.compute_dtype = course.dtype;
  return deck;
}

class ModelRank {
 public:
  ModelRank(comm::World& world, comm::LocalNetwork& network, const Course& course)
      : world_(world),
        network_(network),
        course_(course),
        layout_(plan_layout(deck_, 1e11, kPlenty)),
        context_{.options = pipeline_options(deck_),
                 .world = world,
                 .device = *device_,
                 .transport = nullptr,
                 .peers = network.peers()},
        replica_(
            layout_, context_,
            [&](const parallel::ProcessGrid& grid, const parallel::Replica* before) {
              auto built = std::make_unique<parallel::GptReplica>(
                  layout_, grid, context_,
                  parallel::GptReplica::Options{.before = dynamic_cast<const parallel::GptReplica*>(before),
                                                .keeps_spare = course_.keeps_spare});
              if (course_.on_build) course_.on_build(world_.rank(), grid);
              return built;
            }),
        swap_(replica_, [&](auto& from, auto& to, comm::ControlGroup& control) {
          const std::uint64_t bytes = move_model_state(
              from, to, control, world_.rank(),
              {.transport = network_.transport(world_.rank()), .peers = network_.peers(), .deadline_s = 5});
          control.agree([&] {
            if (course_.on_moved) course_.on_moved(world_.rank(), to.grid());
          });
          return bytes;
        }) {
    initialise(model().mirror(), layout_.config, 1);
    model().mirror().store(Deadline::after_s(kDeadline_s));
    model().state().publish_weights(Deadline::after_s(kDeadline_s));
  }

  void train(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }
  GridSwap::Outcome change(const Permutation& permutation) {
    const Addresses before = addresses();
    GridSwap::Outcome outcome = swap_.run(permutation);
    if (course_.on_change) course_.on_change(world_.rank(), before, addresses());
    return outcome;
  }
  void leave(Result& result, std::mutex& mutex) {
    const std::lock_guard lock(mutex);
    if (world_.rank() == 0) {
      result.losses = losses_;
      result.norms = norms_;
    }
    const parallel::GridCoordinates at = replica_.coordinates();
    const int position = at.tensor + 2 * (at.data + 2 * at.pipeline);
    model().mirror().fetch(Deadline::after_s(kDeadline_s));
    for (const io::StateRange& range : state_ranges(model().mirror()))
      for (const io::StatePart& part : range.parts)
        result.state[position].insert(result.state[position].end(), part.data, part.data + range.count);
    const parallel::TrainingState& state = model().state();
    for (int row = 0; row < static_cast<int>(state.table().rows().size()); ++row) {
      const std::vector<std::byte> bytes = bytes_of(state.table().view(state.weights(), row));
      result.weights[position].insert(result.weights[position].end(), bytes.begin(), bytes.end());
    }
  }
  const parallel::ProcessGrid& grid() const { return replica_.grid(); }

 private:
  parallel::GptReplica& model() { return dynamic_cast<parallel::GptReplica&>(replica_.current()); }

  Addresses addresses() {
    parallel::TrainingState& state = model().state();
    return {state.weights().data, state.gradients().data, state.owned().front().moments.front().data};
  }
  std::vector<std::byte> bytes_of(const kernels::Tensor& tensor) {
    const auto memory = device_->allocate(tensor.bytes(), kernels::MemoryKind::pinned_host);
    device_->kernels().copy(replica_.stream(), tensor, memory->tensor(tensor.dtype, tensor.shape));
    replica_.stream().synchronize(Deadline::after_s(kDeadline_s));
    const auto* const begin = static_cast<const std::byte*>(memory->data());
    return {begin, begin + tensor.bytes()};
  }

  // As TrainingLoop does it.
  void step() {
    const int number = static_cast<int>(losses_.size()) + 1;
    const auto tokens = static_cast<double>(deck_.batch.global_batch_size * deck_.model.seq_length);
    const auto rule = update_rule(deck_.optimizer, 1e-2, tokens, number);
    const std::vector<std::int32_t> windows = windows_of(number);
    parallel::StepBatch batch{.microbatches = layout_.schedule.microbatches(), .windows = {}};
    if (replica_.reads_tokens()) batch.windows = windows;
    replica_.passes(batch, rule, nullptr);
    replica_.reduce();
    replica_.sum_tied();
    const StepVote vote = count_votes(replica_, {.sums = replica_.norm()}, tokens, true);
    replica_.update(rule, vote.squares);
    replica_.gather();
    losses_.push_back(vote.loss);
    norms_.push_back(vote.grad_norm);
  }

  std::vector<std::int32_t> windows_of(int step) const {
    const kernels::CounterRandom random(static_cast<std::uint64_t>(step), "tokens");
    const auto count =
        static_cast<std::uint64_t>(layout_.schedule.microbatches() * (deck_.model.seq_length + 1));
    const std::uint64_t first = count * static_cast<std::uint64_t>(replica_.coordinates().data);
    std::vector<std::int32_t> tokens;
    for (std::uint64_t i = 0; i < count; ++i)
      tokens.push_back(static_cast<std::int32_t>(random.bits(first + i) %
                                                 static_cast<std::uint64_t>(deck_.model.vocab_size)));
    return tokens;
  }

  comm::World& world_;
  comm::LocalNetwork& network_;
  const Course& course_;
  const io::Deck deck_ = deck_of(course_);
  const std::unique_ptr<kernels::Device> device_ = course_.create_device();
  const parallel::Layout layout_;
  const parallel::PipelineContext context_;
  parallel::SwappableReplica replica_;
  GridSwap swap_;
  std::vector<double> losses_, norms_;
};

Result run(const Course& course) {
  Result result;
  result.outcomes.resize(kRanks);
  std::mutex mutex;
  comm::LocalNetwork network(kRanks, course.on_send);
  comm::run_ranks(kRanks, kDeadline_s, [&](comm::World& world) {
    ModelRank rank(world, network, course);
    for (const Permutation& permutation : course.changes) {
      rank.train(2);
      if (permutation.empty()) continue;
      result.outcomes[static_cast<std::size_t>(world.rank())] = rank.change(permutation);
    }
    rank.train(2);
    rank.leave(result, mutex);
  });
  return result;
}

/// With as many steps as a course of two changes.
const Result& undisturbed() {
  static const Result result = run({.changes = std::vector<Permutation>(2)});
  return result;
}

TEST(GridSwap, every_pair_of_tensor_groups_swaps_and_swaps_back_without_a_changed_bit) {
  for (int a = 0; a < 4; ++a)
    for (int b = a + 1; b < 4; ++b) {
      const Result result = run({.changes = {swapped(a, b), kIdentity}});
      EXPECT_TRUE(result == undisturbed()) << "groups " << a << " and " << b;
      for (int rank = 0; rank < kRanks; ++rank) {
        const GridSwap::Outcome& outcome = result.outcomes[static_cast<std::size_t>(rank)];
        EXPECT_EQ(outcome.refusal, "");
        const bool moved = rank / 2 == a || rank / 2 == b;
        const int position = rank;  // at the end
        EXPECT_EQ(outcome.bytes, moved ? sizeof(float) * result.state.at(position).size() : 0);
      }
    }
}

TEST(GridSwap, a_run_ends_the_same_in_other_places_and_where_nobody_moves) {
  EXPECT_TRUE(run({.changes = {kIdentity, kIdentity}}) == undisturbed());
  const Result result = run({.changes = {swapped(0, 3), {2, 3, 4, 5, 6, 7, 0, 1}}});
  EXPECT_TRUE(result == undisturbed());
  for (int rank = 0; rank < kRanks; ++rank) {
    const GridSwap::Outcome& outcome = result.outcomes[static_cast<std::size_t>(rank)];
    EXPECT_EQ(outcome.refusal, "");
    EXPECT_EQ(outcome.bytes > 0, rank / 2 != 0) << rank;  // the first group stays where it went
  }
}

TEST(GridSwap, a_swap_of_which_a_rank_has_no_memory_leaves_the_old_places_and_says_why) {
  const Result result = run(
      {.changes = {swapped(1, 2), kIdentity}, .on_build = [](int rank, const parallel::ProcessGrid& grid) {
         if (rank == 3 && grid.generation() > 0)
           throw kernels::Error(kernels::Scope::rank, "rank 3 has no memory");
       }});
  EXPECT_TRUE(result == undisturbed());
  for (const GridSwap::Outcome& outcome : result.outcomes) EXPECT_EQ(outcome.refusal, "rank 3 has no memory");
}

TEST(GridSwap, a_swap_whose_state_does_not_come_leaves_the_old_places_and_another_may_follow) {
  const Result result =
      run({.changes = {swapped(0, 2), swapped(1, 3)},
           .on_send = [](int from, int, const std::string& purpose, const comm::MessageHeader& header) {
             if (from == 4 && purpose.starts_with("swap.1.") && header.payload_bytes > 0)
               throw kernels::Error(kernels::Scope::link, "the network is gone");
           }});
  EXPECT_TRUE(result == undisturbed());
  for (const GridSwap::Outcome& outcome : result.outcomes) EXPECT_EQ(outcome.refusal, "");  // the second
  const Result refused =
      run({.changes = {kIdentity, swapped(0, 2)},
           .on_send = [](int from, int, const std::string& purpose, const comm::MessageHeader& header) {
             if (from == 4 && purpose.starts_with("swap.2.") && header.payload_bytes > 0)
               throw kernels::Error(kernels::Scope::link, "the network is gone");
           }});
  EXPECT_TRUE(refused == undisturbed());
  for (const GridSwap::Outcome& outcome : refused.outcomes)
    EXPECT_EQ(outcome.refusal, "a swap of ranks: the state of rank 4 did not come to rank 0");
}

TEST(GridSwap, a_swap_that_is_refused_when_all_has_come_leaves_weights_and_state_as_they_were) {
  for (const io::ComputeDtype dtype : {io::ComputeDtype::fp32, io::ComputeDtype::bf16}) {
    const Result quiet = run({.changes = std::vector<Permutation>(2), .dtype = dtype});
    const Result result =
        run({.changes = {kIdentity, swapped(1, 2)},
             .on_moved =
                 [](int rank, const parallel::ProcessGrid& grid) {
                   if (rank == 5 && grid.generation() == 2)
                     throw kernels::Error(kernels::Scope::rank, "rank 5 thinks better of it");
                 },
             .on_change = [](int rank, const Addresses& before,
                             const Addresses& after) { EXPECT_TRUE(before == after) << rank; },
             .dtype = dtype});
    EXPECT_TRUE(result == quiet);
    for (const GridSwap::Outcome& outcome : result.outcomes)
      EXPECT_EQ(outcome.refusal, "rank 5 thinks better of it");
  }
}

TEST(GridSwap, a_rank_that_stays_keeps_its_memory_and_one_that_moves_what_the_old_place_can_spare) {
  const auto check = [](int rank, const Addresses& before, const Addresses& after) {
    const bool moves = rank / 2 == 1 || rank / 2 == 2;
    EXPECT_EQ(after.weights, moves ? before.gradients : before.weights);
    EXPECT_EQ(after.gradients, moves ? before.weights : before.gradients);
    EXPECT_EQ(after.moments != before.moments, moves);
  };
  EXPECT_TRUE(run({.changes = {swapped(1, 2), kIdentity}, .on_change = check}) == undisturbed());
}

TEST(GridSwap, a_second_state_that_is_kept_takes_what_moves_and_then_what_moves_back) {
  for (const io::ComputeDtype dtype : {io::ComputeDtype::fp32, io::ComputeDtype::bf16}) {
    std::array<const void*, kRanks> at_first = {};
    const auto check = [&](int rank, const Addresses& before, const Addresses& after) {
      const void*& first = at_first[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(!first || after.moments == first);
      first = before.moments;
      EXPECT_EQ(after.moments != before.moments, rank / 2 == 1 || rank / 2 == 2);
    };
    const Result result =
        run({.changes = {swapped(1, 2), kIdentity}, .on_change = check, .dtype = dtype, .keeps_spare = true});
    EXPECT_TRUE(result == run({.changes = std::vector<Permutation>(2), .dtype = dtype}));
  }
}

TEST(GridSwap, master_weights_apart_from_the_weights_move_without_a_changed_bit) {
  const io::ComputeDtype bf16 = io::ComputeDtype::bf16;
  EXPECT_TRUE(run({.changes = {swapped(0, 3), swapped(1, 2)}, .dtype = bf16}) ==
              run({.changes = std::vector<Permutation>(2), .dtype = bf16}));
}

TEST(GridSwap, ranks_of_an_asynchronous_device_swap_without_a_changed_bit) {
  const auto stand_in = [] { return kernels::test::create_stand_in({.jitter_us = 200}); };
  const auto on_stand_in = [&](const std::vector<Permutation>& changes) {
    return run({.changes = changes, .create_device = stand_in});
  };
  EXPECT_TRUE(on_stand_in({swapped(1, 2), swapped(0, 3)}) == on_stand_in(std::vector<Permutation>(2)));
}

TEST(GridSwap, what_is_no_permutation_is_refused) {
  const Result result = run({.changes = {{0, 0, 2, 3, 4, 5, 6, 7}, kIdentity}});
  EXPECT_TRUE(result == undisturbed());
}

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

TEST(GridSwap, emulated_ranks_send_the_state_over_their_links_and_go_on_over_links_of_the_new_places) {
  constexpr std::uint64_t kStateBytes = std::uint64_t{20} << 20;
  Sent sent;
  comm::LocalNetwork network(kRanks, sent.on_send());
  io::Deck deck = small_deck();
  deck.device.kind = io::DeviceKind::emulated;
  deck.device.forward_ms = deck.device.backward_input_ms = deck.device.backward_weight_ms = {0.1};
  deck.device.activation_bytes = deck.device.gradient_bytes = 4096;
  const parallel::Layout layout = plan_layout(deck, 0, std::size_t{0});
  std::vector<GridSwap::Outcome> outcomes(kRanks);
  comm::run_ranks(kRanks, kDeadline_s, [&](comm::World& world) {
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
  for (int rank = 0; rank < kRanks; ++rank) {
    const bool moved = rank / 2 == 0 || rank / 2 == 3;
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].refusal, "");
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].bytes, moved ? kStateBytes : 0) << rank;
  }
  EXPECT_EQ(sent.bytes["direct swap.1"], 4 * kStateBytes);
  for (const auto& [purpose, bytes] : sent.bytes) EXPECT_EQ(generation_of(purpose), "1") << purpose;
}

}  // namespace
}  // namespace tenax::app
