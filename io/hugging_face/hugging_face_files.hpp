// The small files beside a model's weights that make AutoTokenizer and pipeline() work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "io/tokenizer/tokenizer.hpp"

namespace tenax::io {

/// The texts, by name, of vocab.json, merges.txt, tokenizer_config.json, special_tokens_map.json
/// and generation_config.json. `vocab_dir` is the folder of the tokenizer gpt2, whose files are
/// copied. The tokenizer bytes becomes a byte-level BPE without merges. Throws kernels::Error(rank)
/// if the folder cannot be read.
std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer,
                                                   const std::filesystem::path& vocab_dir,
                                                   std::int64_t seq_length);

}  // namespace tenax::io
