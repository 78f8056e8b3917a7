#include "app/training/initial_weights.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <numeric>

#include "io/hugging_face/gpt2_weights.hpp"
#include "kernels/new_thread.hpp"
#include "kernels/random.hpp"
#include "resilience/checkpoint/checkpoint_restore.hpp"

namespace tenax::app {

using model::Initialisation;

std::vector<io::StateRange> state_ranges(const parallel::StateMirror& state) {
  const std::vector<std::string>& moments = state.optimizer().moments;
  std::vector<io::StateRange> ranges;
  for (const parallel::OwnedState& owned : state.owned()) {
    const model::ParameterRow& row = state.table().row(owned.row);
    io::StateRange range{.name = row.name,
                         .layout = row.layout,
                         .local_begin = owned.row_begin,
                         .count = owned.count,
                         .parts = {{io::kWeightGroup, owned.master.as<float>()}},
                         .primary = !row.counted_elsewhere};
    for (std::size_t i = 0; i < owned.moments.size(); ++i)
      range.parts.push_back({io::moment_group(moments[i]), owned.moments[i].as<float>()});
    ranges.push_back(std::move(range));
  }
  return ranges;
}

namespace {

double standard_deviation(Initialisation kind, const model::GptConfig& config) {
  constexpr double kGpt2 = 0.02;
  const auto residuals = static_cast<double>(2 * config.num_layers);  // additions to the residual stream
  return kind == Initialisation::residual_projection ? kGpt2 / std::sqrt(residuals) : kGpt2;
}

void initialise(const parallel::OwnedState& owned, const model::ParameterRow& row,
                const model::GptConfig& config, std::uint64_t seed) {
  auto* weights = owned.master.as<float>();
  std::fill_n(weights, owned.count, row.initialisation == Initialisation::ones ? 1.0F : 0.0F);
  for (const kernels::Tensor& moment : owned.moments) std::fill_n(moment.as<float>(), owned.count, 0.0F);
  if (row.initialisation == Initialisation::ones || row.initialisation == Initialisation::zeros) return;
  const kernels::CounterRandom random(seed, row.name);
  const double sigma = standard_deviation(row.initialisation, config);
  row.layout.for_each_run(
      owned.row_begin, owned.row_begin + owned.count, [&](const kernels::ShardLayout::Run& run) {
        for (std::int64_t i = 0; i < run.count; ++i)
          weights[run.local_begin - owned.row_begin + i] =
              static_cast<float>(sigma * random.normal(static_cast<std::uint64_t>(run.logical_begin + i)));
      });
}

}  // namespace

void initialise(const parallel::StateMirror& state, const model::GptConfig& config, std::uint64_t seed,
                int threads, const std::function<void(double)>& progress) {
  const auto& owned = state.owned();
  const std::int64_t all =
      std::accumulate(owned.begin(), owned.end(), std::int64_t{0},
                      [](std::int64_t sum, const auto& part) { return sum + part.count; });
  std::atomic<std::size_t> next = 0;
  std::atomic<std::int64_t> done = 0;
  const auto work = [&](const std::function<void(double)>& tell) {
    for (std::size_t i = next++; i < owned.size(); i = next++) {
      initialise(owned[i], state.table().row(owned[i].row), config, seed);
      done += owned[i].count;
      if (tell) tell(static_cast<double>(done) / static_cast<double>(all));
    }
  };
  std::vector<std::future<void>> helpers;
  for (int i = 1; i < threads; ++i) helpers.push_back(kernels::new_async([&] { work({}); }));
  work(progress);
  for (std::future<void>& helper : helpers) helper.get();
}

void load_initial_weights(const parallel::StateMirror& state, const io::ModelSection& section) {
  const io::Gpt2Weights weights(section.init_weights);
  weights.check_model(section);
  for (const io::StateRange& range : state_ranges(state)) weights.read(range);
}

io::CheckpointInfo load_initial_checkpoint(comm::ControlGroup& control, const parallel::StateMirror& state,
                                           const io::ModelSection& section) {
  std::vector<io::StateRange> weights = state_ranges(state);
  for (io::StateRange& range : weights) range.parts.resize(1);
  return resilience::restore_checkpoint(control, section.init_weights, weights, section);
}

}  // namespace tenax::app
