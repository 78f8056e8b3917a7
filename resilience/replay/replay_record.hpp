// ReplayRecord: checksums of all that one rank held in a few steps, so that the same steps can be
// compared with those of another machine.
//
// A file, one JSON object a line. First the rank:
//   {"rank": 3, "host": "beta", "stage": 1, "tensors": ["h.2.ln_1.weight", …], "parts": ["weight", …]}
// then each moment, with a checksum of 16 hexadecimal digits for each part of each tensor:
//   {"step": 100, "point": "update", "sums": "0123456789abcdef…"}
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenax::resilience {

/// What does not change from moment to moment.
struct ReplayRank {
  int rank = 0;
  std::string host;
  int stage = 0;
  std::vector<std::string> tensors;  ///< Hugging Face names, in the order of the model
  /// "weight", the optimizer's moments, "gradient"; "copy" = the weights that passes read, where
  /// they are others than those that are updated.
  std::vector<std::string> parts;
  bool operator==(const ReplayRank&) const = default;
};

/// Two of each step, between which nobody but the optimizer may change anything.
enum class ReplayPoint { update, commit };  ///< before the step's update, after it

struct ReplayMoment {
  std::int64_t step = 0;  ///< from 0, as metrics count
  ReplayPoint point = ReplayPoint::update;
  std::vector<std::uint64_t> sums;  ///< [tensors, parts]
  bool operator==(const ReplayMoment&) const = default;
};

struct ReplayRecord {
  ReplayRank rank;
  std::vector<ReplayMoment> moments;
};

std::string text_of(const ReplayRank& rank);
std::string text_of(const ReplayMoment& moment);

/// What one rank writes, and where it is in the folder of a run.
std::filesystem::path replay_file(const std::filesystem::path& folder, int rank);
/// All records of a folder, by rank. Throws kernels::Error(rank) where one of `ranks` is missing, or
/// no such file.
std::vector<ReplayRecord> read_replay(const std::filesystem::path& folder, int ranks);

}  // namespace tenax::resilience
