// The words between a replica's ranks and its leader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/number_text.hpp"

namespace tenax::resilience {

inline constexpr std::string_view kBeat = "beat", kFreeze = "freeze ", kHeartbeatPurpose = "heartbeat.";

inline std::string heartbeat_purpose(int rank) {
  return std::string(kHeartbeatPurpose) + std::to_string(rank);
}
inline std::string freeze_word(std::int64_t epoch) { return std::string(kFreeze) + std::to_string(epoch); }

/// The number behind `head`; nothing if `text` is not made so.
inline std::optional<std::int64_t> number_after(std::string_view head, std::string_view text) {
  if (!text.starts_with(head)) return {};
  return kernels::number_of<std::int64_t>(text.substr(head.size()));
}

/// −1 for any other word.
inline std::int64_t epoch_of_freeze(std::string_view word) {
  return number_after(kFreeze, word).value_or(-1);
}

}  // namespace tenax::resilience
