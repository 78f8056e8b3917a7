// What the supervisor of a run of replicas has written, to be counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tenax::io {

/// A line of RUN_DIRECTORY/events.jsonl.
struct LaunchEvent {
  double time_s = 0;  ///< UNIX time
  std::int64_t step = 0;
  std::string event, reason;
  std::int64_t replica = -1, incarnation = -1;  ///< −1: none
  std::map<std::string, double> numbers;        ///< its other members that are numbers

  /// 0 where there is none of that name.
  double number(const std::string& name) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? 0 : found->second;
  }
};

/// Skips lines that are not JSON, which a killed run may leave, and treats an absent file as empty.
std::vector<LaunchEvent> read_launch_events(const std::filesystem::path& run_directory);

}  // namespace tenax::io
