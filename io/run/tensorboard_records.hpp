// Records of TensorBoard's event files: their frame, and the messages that scalars need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenax::io {

/// CRC-32C (Castagnoli), as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

/// Event messages: the one that begins a file, and one with scalars (tag, value).
std::string version_event(double unix_time_s);
std::string scalars_event(double unix_time_s, std::int64_t step,
                          const std::vector<std::pair<std::string_view, double>>& scalars);

/// `event` framed as a record.
std::string record_of(std::string_view event);
/// The event in the record at the front of `bytes`; nothing if the record is torn or damaged.
std::optional<std::string_view> front_record(std::string_view bytes);
/// The bytes of a record whose event has `event_size` bytes.
std::size_t record_size(std::size_t event_size);

/// The step of an event that these functions made; 0 if it has none.
std::int64_t step_of_event(std::string_view event);

}  // namespace tenax::io
