// WindowOrder: the part of a token file that a sample is. A pure function of (order, seed, sizes,
// index): any rank of any layout can compute any sample.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenax::io {

enum class SampleOrder { sequential, shuffled };
SampleOrder sample_order(std::string_view deck_choice);  ///< takes data.order

/// A file of n tokens has floor((n - 1) / T) windows, T = seq_length. Window w has the inputs [w·T,
/// w·T + T); the target of a token is the next one. Shuffled: each pass over the windows (epoch) is
/// another permutation, computed in O(1) time and memory by a Feistel network with cycle walking
/// (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002).
class WindowOrder {
 public:
  static std::int64_t windows_in(std::int64_t tokens, std::int64_t seq_length) {
    return (tokens - 1) / seq_length;
  }

  /// windows > 0.
  WindowOrder(SampleOrder order, std::int64_t seed, std::int64_t windows);

  std::int64_t windows() const { return windows_; }
  /// `global_index` = step · global_batch_size + sequence, from 0.
  std::int64_t window_of(std::int64_t global_index) const;

 private:
  std::uint64_t permute(std::uint64_t value, std::uint64_t key) const;

  SampleOrder order_;
  std::int64_t seed_, windows_;
  int half_bits_ = 1;  ///< the network permutes numbers of 2 · half_bits_ bits
};

}  // namespace tenax::io
