// GPT-2's vocabulary as OpenAI published it: encoder.json and vocab.bpe.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenax::io {

/// Two tokens that become one.
struct BpeMerge {
  std::int32_t left = 0, right = 0, merged = 0;
};

struct BpeVocabulary {
  std::vector<std::string> bytes_of_token;
  std::array<std::int32_t, 256> token_of_byte{};
  std::vector<BpeMerge> merges;             ///< the most urgent first
  std::optional<std::int32_t> end_of_text;  ///< set if kEndOfText is a token
};

/// The character that stands for `byte` in GPT-2's files, as UTF-8.
std::string spelled_byte(unsigned char byte);

/// The two files of a vocabulary. OpenAI names them encoder.json and vocab.bpe, Hugging Face
/// vocab.json and merges.txt. OpenAI's names if neither pair is complete.
struct BpeFiles {
  std::filesystem::path tokens, merges;
};
BpeFiles bpe_files_in(const std::filesystem::path& folder);

/// Reads bpe_files_in(folder). The first maps bytes, spelled in GPT-2's alphabet of printable
/// characters, to token numbers 0 … n-1. The second has a merge on each line, of bytes and of
/// tokens that earlier lines made. Throws Error(rank) that names file and entry for anything else.
BpeVocabulary read_bpe_vocabulary(const std::filesystem::path& folder);

}  // namespace tenax::io
