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
  std::optional<std::int32_t> end_of_text;  ///< where kEndOfText is a token
};

/// The character that stands for a byte in GPT-2's files, as UTF-8.
std::string spelled_byte(unsigned char byte);

/// The two files of a vocabulary: encoder.json and vocab.bpe, as OpenAI names them, or vocab.json and merges.txt, as Hugging
/// Face does; OpenAI's names where neither pair is whole.
struct BpeFiles {
  std::filesystem::path tokens, merges;
};
BpeFiles bpe_files_in(const std::filesystem::path& folder);

/// Reads `folder`/encoder.json (token numbers 0 … n-1 by their bytes, spelled in GPT-2's alphabet of printable
/// characters) and `folder`/vocab.bpe (a merge a line, of bytes and of what earlier lines made), or what Hugging Face
/// calls them. Throws Error(rank) naming file and entry for anything else.
BpeVocabulary read_bpe_vocabulary(const std::filesystem::path& folder);

}  // namespace tenax::io
