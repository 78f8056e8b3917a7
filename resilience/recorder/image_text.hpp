// The images of a host's recorders as lines of text, so that a supervisor on another host can judge them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resilience/recorder/recorder_image.hpp"

namespace tenax::resilience {

/// What ranks did, twice, a moment apart: what was looked at between them is being waited for.
struct RecorderImages {
  std::vector<RecorderImage> before, now;
};

/// One line of JSON.
std::string image_text(const RecorderImage& image);
/// What image_text() wrote; nothing for anything else.
std::optional<RecorderImage> parse_image(std::string_view line);

}  // namespace tenax::resilience
