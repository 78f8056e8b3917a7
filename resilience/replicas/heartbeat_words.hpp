// The words between a replica's ranks, those that beat for others of their host, and its leader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/number_text.hpp"

namespace tenax::resilience {

inline constexpr std::string_view kBeat = "beat", kFreeze = "freeze ", kHeartbeatPurpose = "heartbeat.";
inline constexpr std::string_view kSilent = "silent ", kGone = "gone ";

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

/// A rank that is missed by the one that beats for it.
struct LostRank {
  int rank = 0;          ///< in the replica
  double silent_s = 0;   ///< since it was heard of last
  bool is_gone = false;  ///< its connection has closed
};

inline std::string lost_word(const LostRank& lost) {
  constexpr double kMs = 1e3;
  return std::string(lost.is_gone ? kGone : kSilent) + std::to_string(lost.rank) + " " +
         std::to_string(static_cast<std::int64_t>(kMs * lost.silent_s));
}

/// Nothing for any other word.
inline std::optional<LostRank> lost_rank_of(std::string_view word) {
  constexpr double kSecond = 1e-3;
  const bool is_gone = word.starts_with(kGone);
  const auto space = word.rfind(' ');
  if (!is_gone && !word.starts_with(kSilent)) return {};
  const auto rank = number_after(is_gone ? kGone : kSilent, word.substr(0, space));
  const auto silent_ms = number_after(" ", word.substr(space));
  if (!rank || !silent_ms) return {};
  return LostRank{.rank = static_cast<int>(*rank),
                  .silent_s = kSecond * static_cast<double>(*silent_ms),
                  .is_gone = is_gone};
}

}  // namespace tenax::resilience
