// Training samples from many token files. TokenSequence: the files of one source, one after the
// other. TokenBlend: several sources in proportion to their weights, without an end.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "io/tokens/token_file.hpp"
#include "io/tokens/window_order.hpp"

namespace tenax::io {

/// Cuts each file into windows; none reaches across two files. The windows are numbered file after
/// file and taken in the order of WindowOrder.
class TokenSequence {
 public:
  using Files = std::vector<std::unique_ptr<TokenFile>>;
  /// Takes at least one file, each longer than seq_length.
  TokenSequence(Files files, SampleOrder order, std::int64_t seed, std::int64_t seq_length);

  std::int64_t windows() const { return order_.windows(); }
  struct Place {
    TokenFile* file = nullptr;
    std::int64_t first_token = 0;
  };
  /// The beginning of sample `index`, from 0: seq_length + 1 tokens from there are its inputs and
  /// targets.
  Place place_of(std::int64_t index) const;

 private:
  Files files_;
  std::vector<std::int64_t> end_window_;  // one per file, numbered through
  std::int64_t seq_length_;
  WindowOrder order_;
};

/// BlendOrder maps a sample to a source and to the sample's number within that source. It is a pure
/// function of (weights, index): any rank of any layout knows any sample, and a run goes on where
/// it stopped.
///
/// A source's part of the *samples* is its weight divided by the sum of weights, to within 1/65536
/// and never 0, whatever the source's size. The sources are interleaved evenly: the k-th of a
/// source's n samples in a cycle stands at (k + 1/2)/n of the cycle.
class BlendOrder {
 public:
  /// Takes one positive weight for each source, at least one.
  explicit BlendOrder(const std::vector<double>& weights);

  struct Place {
    std::size_t source = 0;
    std::int64_t index = 0;  ///< among the samples of that source, from 0
  };
  Place place_of(std::int64_t global_index) const;

 private:
  std::vector<std::int64_t> share_;  // one per source, in samples of a cycle
  std::vector<Place> cycle_;
};

/// One thread at a time.
class TokenBlend {
 public:
  struct Source {
    TokenSequence::Files files;  ///< each longer than seq_length
    double weight = 0;           ///< 0: the number of its tokens
  };
  /// Takes each source's windows in the order of WindowOrder. The first source has the order that
  /// it has alone.
  TokenBlend(std::vector<Source> sources, SampleOrder order, std::int64_t seed, std::int64_t seq_length);

  /// Reads the seq_length + 1 tokens of sample `global_index` = step · global_batch_size +
  /// sequence. Keeps only the last few files open, however many there are. Throws as
  /// TokenFile::read.
  void read(std::int64_t global_index, std::span<std::int32_t> out);

 private:
  void note_use_of(TokenFile* file);

  BlendOrder blend_;
  std::vector<TokenSequence> sequences_;
  std::deque<TokenFile*> open_;  // the one that was opened first in front
};

}  // namespace tenax::io
