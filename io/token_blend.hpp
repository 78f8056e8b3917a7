// TokenBlend: several token files as one endless sequence of samples, each file as often as its weight asks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/tokens.hpp"
#include "io/window_order.hpp"

namespace tenax::io {

/// Which file a sample comes from, and the how many-th sample of that file it is. Pure: a function of (weights, index), so
/// any rank of any layout knows any sample, and a run goes on where it stopped.
///
/// A weight divided by the sum of weights is the part of the *samples* that come from a file, to within 1/65536, whatever
/// its size, but never none. Samples of all files are interleaved as evenly as their parts allow: the k-th of a file's n
/// in a cycle stands at (k + 1/2)/n of it.
class BlendOrder {
 public:
  /// Positive, one a file, at least one.
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

/// Immutable; may be used from several threads.
class TokenBlend {
 public:
  struct Source {
    std::unique_ptr<TokenFile> tokens;  ///< longer than seq_length
    double weight = 1;
  };
  /// Each file's windows in the order of WindowOrder; the first file's as if it were alone, so that a list of one
  /// file is that file.
  TokenBlend(std::vector<Source> sources, SampleOrder order, std::int64_t seed, std::int64_t seq_length);

  /// The seq_length + 1 tokens of sample `global_index` = step · global_batch_size + sequence.
  void read(std::int64_t global_index, std::span<std::int32_t> out) const;

 private:
  struct OrderedFile {
    std::unique_ptr<TokenFile> tokens;
    WindowOrder windows;
  };
  BlendOrder blend_;
  std::vector<OrderedFile> files_;
};

}  // namespace tenax::io
