// TokenBlend: several sources of tokens as one endless sequence of samples, each as often as its weight asks.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "io/tokens/token_sequence.hpp"

namespace tenax::io {

/// Which source a sample comes from, and the how many-th sample of that source it is. Pure: a function of (weights, index), so
/// any rank of any layout knows any sample, and a run goes on where it stopped.
///
/// A weight divided by the sum of weights is the part of the *samples* that come from a source, to within 1/65536, whatever
/// its size, but never none. Samples of all are interleaved as evenly as their parts allow: the k-th of a source's n
/// in a cycle stands at (k + 1/2)/n of it.
class BlendOrder {
 public:
  /// Positive, one a source, at least one.
  explicit BlendOrder(const std::vector<double>& weights);

  struct Place {
    std::size_t source = 0;
    std::int64_t index = 0;  ///< among the samples of that source, from 0
  };
  Place place_of(std::int64_t global_index) const;

 private:
  std::vector<std::int64_t> share_;  // of each source, in samples of a cycle
  std::vector<Place> cycle_;
};

/// One thread at a time.
class TokenBlend {
 public:
  struct Source {
    TokenSequence::Files files;  ///< each longer than seq_length
    double weight = 0;           ///< 0: the number of its tokens
  };
  /// Each source's windows in the order of WindowOrder; the first one's as if it were alone, so that a list of one is that
  /// one.
  TokenBlend(std::vector<Source> sources, SampleOrder order, std::int64_t seed, std::int64_t seq_length);

  /// The seq_length + 1 tokens of sample `global_index` = step · global_batch_size + sequence. Keeps the last few files
  /// open, so that sets of any number of files stay within what the system allows. Throws as TokenFile::read.
  void read(std::int64_t global_index, std::span<std::int32_t> out);

 private:
  void note_use_of(TokenFile* file);

  BlendOrder blend_;
  std::vector<TokenSequence> sequences_;
  std::deque<TokenFile*> open_;  // the one that was opened first in front
};

}  // namespace tenax::io
