// config.json: the model description that Hugging Face keeps beside a GPT-2's weights.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/deck/model_sizes.hpp"

namespace tenax::io {

/// What `tenax export` writes: loads as GPT2LMHeadModel. Without `end_of_text`, the token that ends texts is GPT-2's where the
/// vocabulary has that many.
std::string gpt2_config_text(const ModelSizes& sizes, const std::string& dtype,
                             std::optional<std::int32_t> end_of_text = {});

/// The sizes in `directory`/config.json, those it does not state being 0; nothing if there is no such file.
/// Throws kernels::Error(rank) if it is not JSON or describes a model that tenax does not compute.
std::optional<ModelSizes> read_gpt2_config(const std::filesystem::path& directory);

}  // namespace tenax::io
