#include "app/training/training_data.hpp"

#include <string>
#include <utility>

#include "app/options.hpp"

namespace tenax::app {

BatchLoader::BatchLoader(io::TokenBlend blend, std::int64_t seq_length)
    : blend_(std::move(blend)), window_(seq_length + 1) {}

std::span<const std::int32_t> BatchLoader::load(const parallel::BatchPlan& plan) {
  tokens_.resize(static_cast<std::size_t>(plan.microbatches() * plan.micro_batch_size() * window_));
  auto destination = std::span(tokens_);
  for (int m = 0; m < plan.microbatches(); ++m) {
    for (std::int64_t i = 0; i < plan.micro_batch_size(); ++i) {
      blend_.read(plan.sample_index(m, i), destination.first(static_cast<std::size_t>(window_)));
      destination = destination.subspan(static_cast<std::size_t>(window_));
    }
  }
  return tokens_;
}

TrainingData::TrainingData(RunRank& rank)
    : rank_(rank),
      train_files_(find_files(rank.control(), rank.deck().data.train)),
      validation_files_(find_files(rank.control(), rank.deck().data.validation)) {
  rank_.on_first([&] {
    std::vector<std::string> files;
    for (const auto* sources : {&train_files_, &validation_files_})
      for (const SourceFiles& source : *sources)
        files.insert(files.end(), source.files.begin(), source.files.end());
    tokenizer_ = settle_tokenizer(rank_.deck().data, files);
  });
  rank_.set_tokenizer(rank_.control().broadcast(tokenizer_.claim.tokenizer, 0));
}

void TrainingData::open() {
  training_ = loader(train_files_, io::sample_order(rank_.deck().data.order));
  validation_ = loader(validation_files_, io::SampleOrder::sequential);
}

std::optional<BatchLoader> TrainingData::loader(const std::vector<SourceFiles>& sources,
                                                io::SampleOrder order) {
  const io::Deck& deck = rank_.deck();
  if (sources.empty()) return {};
  auto opened = open_sources(rank_.control(), rank_.console(), sources, deck);
  io::TokenBlend blend(std::move(opened), order, deck.run.seed, deck.model.seq_length);
  return BatchLoader(std::move(blend), deck.model.seq_length);
}

void TrainingData::compare(const io::TokenizerClaim& weights) {
  rank_.on_first([&] {
    const std::string difference =
        compare_with_checkpoint(tokenizer_, weights, rank_.deck().model.vocab_size);
    if (!difference.empty()) rank_.console().warn(difference);
  });
  rank_.set_tokenizer(rank_.control().broadcast(tokenizer_.claim.tokenizer, 0));
}

}  // namespace tenax::app
