// TokenSequence: token files one after the other, as one stream of windows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/tokens/tokens.hpp"
#include "io/tokens/window_order.hpp"

namespace tenax::io {

/// Each file is cut into windows by itself, so none reaches across two; they are numbered through, file after file, and
/// taken in the order of WindowOrder. Of one file it is that file.
class TokenSequence {
 public:
  using Files = std::vector<std::unique_ptr<TokenFile>>;
  /// At least one file, each longer than seq_length.
  TokenSequence(Files files, SampleOrder order, std::int64_t seed, std::int64_t seq_length);

  std::int64_t windows() const { return order_.windows(); }
  struct Place {
    TokenFile* file = nullptr;
    std::int64_t first_token = 0;
  };
  /// Where sample `index`, from 0, begins: seq_length + 1 tokens from there are its inputs and targets.
  Place place_of(std::int64_t index) const;

 private:
  Files files_;
  std::vector<std::int64_t> end_window_;  // of each file, numbered through
  std::int64_t seq_length_;
  WindowOrder order_;
};

}  // namespace tenax::io
