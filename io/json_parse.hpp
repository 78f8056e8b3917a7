// JSON that others wrote: faults are sentences of ours, nothing is so deep that a recursion over it could exhaust the stack,
// and time grows with the text.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tenax::io {

struct ParsedJson {
  nlohmann::json value;  ///< null where there is a fault
  std::string fault;     ///< empty, or "is not valid JSON (line 3, column 14)" and the like
};

/// Objects and lists may nest 64 levels deep, and an object may hold a name once.
ParsedJson parse_json(std::string_view text);
/// `value` as a message may show it: as JSON, and not all of it if it is long.
std::string shown(const nlohmann::json& value);
/// The string `name` of `object`; empty if there is none.
std::string text_in(const nlohmann::json& object, const char* name);

/// Calls `take` for each line of `file` that is an object. Lines that are none (torn when a run was killed) are passed over,
/// and so is a file that is absent, or no file but a pipe or a device.
void for_each_json_line(const std::filesystem::path& file,
                        const std::function<void(const nlohmann::json&)>& take);

}  // namespace tenax::io
