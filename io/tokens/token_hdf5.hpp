// Reads a token file of `tenax tokenize`, which is HDF5:
//
//   /tokens                uint16, uint32 where the vocabulary has more than 65536; chunked, unfiltered
//   /checksums             uint64: of each 4096 tokens as they are stored (io/checksum.hpp; word 0 is the first of /tokens),
//                          so that whoever reads some can tell whether they are what was written; not in format 1
//   /chunks                int64: where in the file each chunk of /tokens begins, in bytes (io/tokens/token_chunks.hpp); not
//                          in files written before 2026-12
//   /documents             int64: the first token of each document
//   /vocabulary/bytes      uint8: what the tokens stand for, one after the other (not for the tokenizer "bytes")
//   /vocabulary/lengths    uint16: bytes of each token
//   attributes of /        format_version 2, tokenizer ("bytes" or "gpt2"), vocab_size, token_count, document_count,
//                          sources (names of the texts, a line each), checksum (of the elements of /tokens as they are
//                          stored, io/checksum.hpp; 16 hexadecimal digits)
//
// A separator <|endoftext|> belongs to the document that it ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenax::io {

/// The format that this tenax writes. It also reads 1, which has text of variable length and no
/// checksums of metadata.
inline constexpr std::int64_t kTokenFormatVersion = 2;

/// The number of tokens for each checksum in /checksums.
inline constexpr std::int64_t kCheckedTokens = 4096;

struct TokenFileInfo {
  std::string tokenizer;
  std::int64_t vocab_size = 0, tokens = 0, documents = 0;
  std::string sources;  ///< a line each
  std::uint64_t checksum = 0;
  std::int64_t format = 0;
};

/// The place of /tokens in the file: pieces of `piece_tokens` tokens each; the last may be shorter.
struct TokenPieces {
  std::size_t bytes_per_token = 0;
  std::int64_t tokens = 0, piece_tokens = 0;
  std::vector<std::int64_t> offsets;
  std::int64_t checksums_at = 0;  ///< the beginning of /checksums; 0 if there is none
};

/// All throw Error(rank) that names the file if it cannot be read, is not such a file or is
/// compressed. Any thread.
TokenFileInfo read_token_file_info(const std::filesystem::path& file);
TokenPieces locate_tokens(const std::filesystem::path& file);
/// The same without the offsets; there is one for each 131072 tokens.
TokenPieces measure_tokens(const std::filesystem::path& file);
/// The bytes of each token, by number.
std::vector<std::string> read_token_vocabulary(const std::filesystem::path& file);
/// Reads all tokens and throws unless they have the checksum in the file.
void verify_token_file(const std::filesystem::path& file);
/// The same, but only for a file of format 1. Tokens of others are verified as they are read
/// (io/tokens/stored_tokens.hpp).
void verify_old_token_file(const std::filesystem::path& file);
/// The first token of each document.
std::vector<std::int64_t> read_token_documents(const std::filesystem::path& file);

}  // namespace tenax::io
