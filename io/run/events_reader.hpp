// Reading events.jsonl back: how a run ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tenax::io {

struct EventSummary {
  std::string event;   ///< "end", "checkpoint", …
  std::string reason;  ///< of "end"
  std::int64_t step = 0;
};

/// The last complete line of RUN_DIRECTORY/events.jsonl; nothing if there is no such file or line.
std::optional<EventSummary> last_event(const std::filesystem::path& run_directory);

}  // namespace tenax::io
