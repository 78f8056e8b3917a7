#include "tests/app/training/model_rank.hpp"

#include "app/options.hpp"
#include "app/training/initial_weights.hpp"
#include "app/training/step_vote.hpp"
#include "kernels/random.hpp"

namespace tenax::app {

using kernels::Deadline;

namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 40;

io::Deck deck_of(const Course& course) {
  io::Deck deck = course_deck();
  deck.model.compute_dtype = course.dtype;
  return deck;
}

}  // namespace

ModelRank::ModelRank(comm::World& world, comm::LocalNetwork& network, const Course& course)
    : world_(world),
      network_(network),
      course_(course),
      deck_(deck_of(course)),
      device_(course.create_device()),
      layout_(plan_layout(deck_, 1e11, kPlenty)),
      context_{.options = pipeline_options(deck_),
               .world = world,
               .device = *device_,
               .transport = nullptr,
               .peers = network.peers()},
      replica_(layout_, context_,
               [this](const parallel::ProcessGrid& grid, const parallel::Replica* before) {
                 return build(grid, before);
               }),
      swap_(replica_,
            [this](auto& from, auto& to, comm::ControlGroup& control) { return move(from, to, control); }) {
  initialise(model().mirror(), layout_.config, 1);
  model().mirror().store(Deadline::after_s(kCourseDeadline_s));
  model().state().publish_weights(Deadline::after_s(kCourseDeadline_s));
}

std::unique_ptr<parallel::Replica> ModelRank::build(const parallel::ProcessGrid& grid,
                                                    const parallel::Replica* before) {
  auto built = std::make_unique<parallel::GptReplica>(
      layout_, grid, context_,
      parallel::GptReplica::Options{.before = dynamic_cast<const parallel::GptReplica*>(before),
                                    .keeps_spare = course_.keeps_spare});
  if (course_.on_build) course_.on_build(world_.rank(), grid);
  return built;
}

std::uint64_t ModelRank::move(parallel::Replica& from, parallel::Replica& to, comm::ControlGroup& control) {
  const std::uint64_t bytes = move_model_state(
      from, to, control, world_.rank(),
      {.transport = network_.transport(world_.rank()), .peers = network_.peers(), .deadline_s = 5});
  control.agree([&] {
    if (course_.on_moved) course_.on_moved(world_.rank(), to.grid());
  });
  return bytes;
}

void ModelRank::train(int steps) {
  for (int i = 0; i < steps; ++i) step();
}

GridSwap::Outcome ModelRank::change(const Permutation& permutation) {
  const StateAddresses before = addresses();
  GridSwap::Outcome outcome = swap_.run(permutation);
  if (course_.on_change) course_.on_change(world_.rank(), before, addresses());
  return outcome;
}

void ModelRank::leave(CourseResult& result, std::mutex& mutex) {
  const std::lock_guard lock(mutex);
  if (world_.rank() == 0) {
    result.losses = losses_;
    result.norms = norms_;
  }
  const parallel::GridCoordinates at = replica_.coordinates();
  const int position = at.tensor + 2 * (at.data + 2 * at.pipeline);
  model().mirror().fetch(Deadline::after_s(kCourseDeadline_s));
  for (const io::StateRange& range : state_ranges(model().mirror()))
    for (const io::StatePart& part : range.parts)
      result.state[position].insert(result.state[position].end(), part.data, part.data + range.count);
  const parallel::TrainingState& state = model().state();
  for (int row = 0; row < static_cast<int>(state.table().rows().size()); ++row) {
    const std::vector<std::byte> bytes = bytes_of(state.table().view(state.weights(), row));
    result.weights[position].insert(result.weights[position].end(), bytes.begin(), bytes.end());
  }
}

parallel::GptReplica& ModelRank::model() { return dynamic_cast<parallel::GptReplica&>(replica_.current()); }

StateAddresses ModelRank::addresses() {
  parallel::TrainingState& state = model().state();
  return {state.weights().data, state.gradients().data, state.owned().front().moments.front().data};
}

std::vector<std::byte> ModelRank::bytes_of(const kernels::Tensor& tensor) {
  const auto memory = device_->allocate(tensor.bytes(), kernels::MemoryKind::pinned_host);
  device_->kernels().copy(replica_.stream(), tensor, memory->tensor(tensor.dtype, tensor.shape));
  replica_.stream().synchronize(Deadline::after_s(kCourseDeadline_s));
  const auto* const begin = static_cast<const std::byte*>(memory->data());
  return {begin, begin + tensor.bytes()};
}

// As TrainingLoop does it.
void ModelRank::step() {
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

std::vector<std::int32_t> ModelRank::windows_of(int step) const {
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

}  // namespace tenax::app
