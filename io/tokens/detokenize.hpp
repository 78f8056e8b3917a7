// Token files back to text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenax::io {

/// What the tokens of `file` stand for, by their number. A .h5 file knows; for a .bin it is what `tokenizer` (with
/// `vocab_dir`) says. Throws as Tokenizer::create, and Error(rank) if the file cannot be read.
std::vector<std::string> token_texts(const std::filesystem::path& file, const std::string& tokenizer,
                                     const std::filesystem::path& vocab_dir);

/// Writes what the tokens of `file` (.h5 or .bin) stand for to `text`, which appears when it is complete; returns the
/// bytes. Throws Error(rank) for a token that `texts` lacks, and for a .h5 file whose tokens do not have their checksum.
std::int64_t detokenize(const std::filesystem::path& file, const std::vector<std::string>& texts,
                        const std::filesystem::path& text);

}  // namespace tenax::io
