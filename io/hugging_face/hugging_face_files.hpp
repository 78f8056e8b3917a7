// The small files that Hugging Face keeps beside a model's weights, so that AutoTokenizer and pipeline() work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "io/tokenizer/tokenizer.hpp"

namespace tenax::io {

/// By name the texts of vocab.json, merges.txt, tokenizer_config.json, special_tokens_map.json and generation_config.json.
/// `vocab_dir`: where the tokenizer gpt2 was read from, whose files are taken over as they are; bytes are a byte-level BPE
/// without merges. Throws kernels::Error(rank) if the folder cannot be read.
std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer,
                                                   const std::filesystem::path& vocab_dir,
                                                   std::int64_t seq_length);

}  // namespace tenax::io
