// The first thing that two runs of the same steps do not have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "resilience/replay/replay_record.hpp"

namespace tenax::resilience {

struct ReplayDifference {
  std::int64_t step = 0;
  ReplayPoint point = ReplayPoint::update;
  std::string tensor, part;
  std::optional<std::int64_t> layer;  ///< none of embeddings and the last norm
  int stage = 0, rank = 0;
  std::string first_host, second_host;  ///< of that rank
  int tensors = 0, ranks = 0;           ///< so many differ at that moment
};

/// Nothing where both are equal in all moments. The earliest moment counts; in it the cause before
/// what follows from it: state that changed though nobody had updated it, then gradients, of which a
/// backward pass has the last ones of the model first and the tied embedding's last, then what the update made of them, and last
/// the copies of weights that others sent. Of several alike, the first in the order of the model.
/// Throws kernels::Error(rank) where the two are not of the same steps of the same layout.
std::optional<ReplayDifference> find_difference(std::span<const ReplayRecord> first,
                                                std::span<const ReplayRecord> second);

/// The block that a parameter belongs to: 3 of "h.3.ln_1.weight".
std::optional<std::int64_t> layer_of(const std::string& tensor);

}  // namespace tenax::resilience
