#include "app/training/batch_loader.hpp"

#include <utility>

namespace tenax::app {

BatchLoader::BatchLoader(io::TokenBlend blend, parallel::BatchPlan plan, std::int64_t seq_length)
    : blend_(std::move(blend)), plan_(std::move(plan)), window_(seq_length + 1) {
  tokens_.resize(static_cast<std::size_t>(plan_.microbatches() * plan_.micro_batch_size() * window_));
}

std::span<const std::int32_t> BatchLoader::load(std::int64_t step) {
  auto destination = std::span(tokens_);
  for (int m = 0; m < plan_.microbatches(); ++m) {
    for (std::int64_t i = 0; i < plan_.micro_batch_size(); ++i) {
      blend_.read(plan_.sample_index(step, m, i), destination.first(static_cast<std::size_t>(window_)));
      destination = destination.subspan(static_cast<std::size_t>(window_));
    }
  }
  return tokens_;
}

}  // namespace tenax::app
