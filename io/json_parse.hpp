// Reads JSON that others wrote. Faults are sentences of ours, the depth is bounded so that no
// recursion exhausts the stack, and the time is proportional to the text.
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
/// The whole of a file. Throws kernels::Error(rank): "NAME: cannot be read: REASON`advice`", or what is wrong in it.
nlohmann::json read_json(const std::filesystem::path& file, const std::string& advice = "");
/// `value` as a message may show it: as JSON, cut if it is long.
std::string shown(const nlohmann::json& value);
/// The string under `name` in `object`; empty if there is none.
std::string text_in(const nlohmann::json& object, const char* name);

/// Calls `take` for each line of `file` that is an object. Skips other lines, as a killed run may
/// leave one torn. Skips a file that is absent, and a pipe or device.
void for_each_json_line(const std::filesystem::path& file,
                        const std::function<void(const nlohmann::json&)>& take);

}  // namespace tenax::io
