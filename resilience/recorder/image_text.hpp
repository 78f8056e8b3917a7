// The images of a host's recorders as lines of text, so that a supervisor on another host can judge them.
#pragma once

#include <cstddef>
#include <map>
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

/// image_text() in lines that srun passes on whole: longer ones than 1023 bytes it mixes with those of other nodes. `id`
/// tells this image from all others; it has no spaces.
std::vector<std::string> image_lines(const RecorderImage& image, const std::string& id);

/// Puts the lines of many images together again, of which those of one come in order. Anything else that comes is passed
/// over.
class ImageReader {
 public:
  /// The image, when this is its last line.
  std::optional<RecorderImage> add(const std::string& line);

 private:
  struct Part {
    std::size_t next = 0;
    std::string text;
  };
  std::map<std::string, Part> parts_;  // by id
};

}  // namespace tenax::resilience
