#include "app/training/training_data.hpp"

#include <string>
#include <utility>

#include "app/options.hpp"
#include "io/checksum.hpp"

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
    tokenizer_ = settle_tokenizer(rank_.deck().data, files, rank_.deck().model.vocab_size);
  });
  rank_.set_tokenizer(rank_.control().broadcast(tokenizer_.claim.tokenizer, 0));
}

void TrainingData::open() {
  std::vector<io::TokenBlend::Source> sources = open(train_files_);
  train_files_text_ = files_text(sources);
  training_ = loader(std::move(sources), io::sample_order(rank_.deck().data.order));
  validation_ = loader(open(validation_files_), io::SampleOrder::sequential);
}

std::vector<io::TokenBlend::Source> TrainingData::open(const std::vector<SourceFiles>& files) {
  if (files.empty()) return {};
  return open_sources(rank_.control(), rank_.console(), files, rank_.deck());
}

std::optional<BatchLoader> TrainingData::loader(std::vector<io::TokenBlend::Source> sources,
                                                io::SampleOrder order) {
  const io::Deck& deck = rank_.deck();
  if (sources.empty()) return {};
  io::TokenBlend blend(std::move(sources), order, deck.run.seed, deck.model.seq_length);
  return BatchLoader(std::move(blend), deck.model.seq_length);
}

std::string TrainingData::checksum() const {
  return io::checksum_text(io::checksum_of_bytes(std::as_bytes(std::span(train_files_text_)), 0));
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
