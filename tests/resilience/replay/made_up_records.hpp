// Records of two equal runs on four ranks (two stages, two data ranks), to be spoilt by tests.
#pragma once

#include "resilience/replay/replay_record.hpp"

namespace tenax::resilience {

inline const std::vector<std::string> kParts = {"weight", "exp_avg", "gradient", "copy"};
inline constexpr std::size_t kWeight = 0, kMoment = 1, kGradient = 2, kCopy = 3;

/// Of steps 100 and 101. Stage 0 has three tensors, stage 1 two, of which wte is on both.
inline std::vector<ReplayRecord> made_up_records(const std::string& host) {
  std::vector<ReplayRecord> records;
  for (int rank = 0; rank < 4; ++rank) {
    const int stage = rank / 2;
    ReplayRecord record;
    record.rank = {.rank = rank,
                   .host = host,
                   .stage = stage,
                   .tensors = stage == 0
                                  ? std::vector<std::string>{"wte.weight", "h.0.ln_1.weight", "h.1.ln_1.bias"}
                                  : std::vector<std::string>{"h.2.ln_1.weight", "wte.weight"},
                   .parts = kParts};
    for (const std::int64_t step : {100, 101})
      for (const ReplayPoint point : {ReplayPoint::update, ReplayPoint::commit}) {
        ReplayMoment moment{.step = step, .point = point, .sums = {}};
        for (std::size_t i = 0; i < record.rank.tensors.size() * kParts.size(); ++i)
          moment.sums.push_back(0xFEDCBA9876543210U + 1000 * static_cast<std::uint64_t>(rank) + i);
        record.moments.push_back(std::move(moment));
      }
    records.push_back(std::move(record));
  }
  return records;
}

/// Changes a checksum. `moment`: 0 = before the update of step 100, 1 = after it, 2 and 3 of step 101.
inline void spoil(std::vector<ReplayRecord>& records, std::size_t rank, std::size_t moment,
                  std::size_t tensor, std::size_t part) {
  ++records[rank].moments[moment].sums[tensor * kParts.size() + part];
}

}  // namespace tenax::resilience
