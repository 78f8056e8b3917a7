// `tenax import`: checkpoints from Hugging Face's GPT-2 files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_info.hpp"

namespace tenax::io {

struct ImportedModel {
  CheckpointInfo info;
  std::vector<std::string> ignored;  ///< tensors that are no parameters (Gpt2Weights::ignored)
};

/// Writes a checkpoint of step 0 with zero moments, an empty deck and `origin`. `in` is the
/// argument of SafetensorsSet. The number of heads comes from config.json beside it, or from
/// `heads`. Returns the content written. Throws kernels::Error(usage) if nothing tells the heads,
/// (rank) for other faults.
ImportedModel import_safetensors(const std::filesystem::path& in, const std::filesystem::path& out,
                                 std::optional<std::int64_t> heads, const CheckpointOrigin& origin = {});

}  // namespace tenax::io
