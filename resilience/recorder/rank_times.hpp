// rank_times(): how a rank has spent its last steps, by its recorder.
#pragma once

#include <optional>

#include "resilience/blame/slow_ranks.hpp"
#include "resilience/recorder/recorder_image.hpp"

namespace tenax::resilience {

/// Of the last `steps` steps that have ended; nothing where the image has not as many whole ones. Pure.
std::optional<RankTimes> rank_times(const RecorderImage& image, int steps);

}  // namespace tenax::resilience
