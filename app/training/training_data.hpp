// TrainingData: the tokens that a run trains on and validates with, and the tokenizer that
// they are of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/training/data_tokenizer.hpp"
#include "app/training/run_rank.hpp"
#include "app/training/token_sources.hpp"
#include "io/tokens/token_blend.hpp"
#include "parallel/layout/batch_plan.hpp"

namespace tenax::app {

/// The windows of tokens that this rank's pipeline computes on.
class BatchLoader {
 public:
  BatchLoader(io::TokenBlend blend, std::int64_t seq_length);
  /// [microbatches, sequences, T + 1] tokens of the plan; valid until the next call.
  std::span<const std::int32_t> load(const parallel::BatchPlan& plan);

 private:
  io::TokenBlend blend_;
  std::int64_t window_;  // T + 1
  std::vector<std::int32_t> tokens_;
};

/// Every call is collective, and throws comm::AgreedError for what one rank cannot do.
class TrainingData {
 public:
  /// Finds the files of [data], settles their tokenizer, and says it in the rank's deck. Opens no
  /// file for long. `rank` must outlive it.
  explicit TrainingData(RunRank& rank);

  /// Opens the files. Every rank keeps them, for ranks may change places; they are read where tokens
  /// are.
  void open();
  /// Compares the tokenizer with what the weights were trained on, and warns of a difference, or
  /// refuses it (compare_with_checkpoint). Takes the weights' over where nothing else says one.
  void compare(const io::TokenizerClaim& weights);

  /// Of the files that the run trains on, once they are open: what names and sizes they have, and in which order.
  std::string checksum() const;
  /// Rank 0's: what is known of the tokenizer.
  const io::TokenizerClaim& claim() const { return tokenizer_.claim; }
  /// Null where there are none.
  BatchLoader* training() { return training_ ? &*training_ : nullptr; }
  BatchLoader* validation() { return validation_ ? &*validation_ : nullptr; }

 private:
  std::vector<io::TokenBlend::Source> open(const std::vector<SourceFiles>& files);
  std::optional<BatchLoader> loader(std::vector<io::TokenBlend::Source> sources, io::SampleOrder order);

  RunRank& rank_;
  std::vector<SourceFiles> train_files_, validation_files_;
  DataTokenizer tokenizer_;
  std::string train_files_text_;
  std::optional<BatchLoader> training_, validation_;
};

}  // namespace tenax::app
