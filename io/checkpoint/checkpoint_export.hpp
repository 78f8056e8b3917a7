// `tenax export`: checkpoints to Hugging Face's GPT-2 files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "io/checkpoint/checkpoint_serial.hpp"
#include "io/tokenizer/tokenizer.hpp"

namespace tenax::io {

struct ExportOptions {
  std::string dtype = "F32";     ///< F32, F16 or BF16; else kernels::Error(usage)
  std::int64_t shard_bytes = 0;  ///< most bytes of tensors in a file, a larger tensor aside; 0: one file
  const Tokenizer* tokenizer = nullptr;  ///< null: not known
  std::filesystem::path vocab_dir = {};  ///< where the tokenizer gpt2 has its files
};

/// Writes the weights to `out`, which is …/NAME.safetensors. More than shard_bytes go to
/// NAME-00001-of-0000N.safetensors, … with NAME.safetensors.index.json. Writes config.json beside
/// them, and tokenizer_files() if the tokenizer is known. All files appear at the end, or none; what
/// is cut short between them has no index. Throws kernels::Error(usage) for another name.
void export_safetensors(const VerifiedCheckpoint& checkpoint, const std::filesystem::path& out,
                        const ExportOptions& options);

}  // namespace tenax::io
