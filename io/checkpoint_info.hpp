// CheckpointInfo: what a checkpoint holds and where, without its tensors. Plain data; travels between ranks
// as text.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/model_sizes.hpp"
#include "io/state_range.hpp"

namespace tenax::io {

/// The three float32 datasets of a parameter: its value and AdamW's moments.
inline constexpr int kStateParts = 3;
inline constexpr std::array<const char*, kStateParts> kStateGroups = {"/model", "/optimizer/exp_avg",
                                                                      "/optimizer/exp_avg_sq"};
/// The range's memory of part `part`; null where the caller has none.
inline float* data_of(const StateRange& range, int part) {
  return part == 0 ? range.master : part == 1 ? range.exp_avg : range.exp_avg_sq;
}

struct StoredParameter {
  std::string name;                                   ///< Hugging Face
  kernels::Shape shape;                               ///< logical, unsharded
  std::array<std::uint64_t, kStateParts> checksum{};  ///< of each dataset (checksum.hpp; word = flat index)
  std::array<std::int64_t, kStateParts> offset{};     ///< of each dataset's first byte in the file
  std::int64_t elements = 0;                          ///< how many the checksums cover
};

struct CheckpointInfo {
  std::int64_t step = 0;  ///< steps done
  ModelSizes model;
  std::string deck;  ///< the resolved deck, TOML; empty for an imported model
  std::vector<StoredParameter> parameters;
  std::int64_t file_bytes = 0;
  std::uint64_t metadata_checksum = 0;  ///< the part of the seal's checksum that is not tensors

  /// Null if there is none of that name.
  const StoredParameter* find(const std::string& name) const;
};

/// What the primary ranges of one rank contribute: each parameter once, with partial checksums. Reads every
/// element.
std::vector<StoredParameter> contributions_of(std::span<const StateRange> ranges);
/// The sum over all ranks' contributions, sorted by name. Throws kernels::Error(job) unless each parameter is
/// covered exactly.
std::vector<StoredParameter> merge_contributions(const std::vector<std::vector<StoredParameter>>& of_rank);

std::string to_text(const std::vector<StoredParameter>& parameters);
std::vector<StoredParameter> parse_parameters(const std::string& text);
std::string to_text(const CheckpointInfo& info);
CheckpointInfo parse_info(const std::string& text);

}  // namespace tenax::io
