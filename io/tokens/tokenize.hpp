// Turns texts of any size into tokens, on all cores and in bounded memory, and token files back
// into text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "io/tokenizer/tokenizer.hpp"
#include "io/tokens/token_writer.hpp"

namespace tenax::io {

/// Called with the bytes of text tokenized so far. It may throw to end the work.
using TokenizeProgress = std::function<void(std::int64_t bytes)>;

/// Appends the tokens of `texts`, one after the other, to `writer`. A document begins with each
/// file and after each separator. If the tokenizer has a separator, one is put between files unless
/// a file ends with one. Returns the bytes read. Throws Error(rank) if a file cannot be read, or if
/// all are empty.
///
/// `threads` threads encode; the caller's thread reads, writes and calls `progress`. Each holds a
/// few MiB, and room for the longest word.
std::int64_t tokenize_files(const std::vector<std::filesystem::path>& texts, const Tokenizer& tokenizer,
                            TokenSink& writer, int threads, const TokenizeProgress& progress);

/// The text of each token of `file`, by number. A .h5 file holds them; for a .bin they are those of
/// `tokenizer` (with `vocab_dir`). Throws as Tokenizer::create, and Error(rank) if the file cannot
/// be read.
std::vector<std::string> token_texts(const std::filesystem::path& file, const std::string& tokenizer,
                                     const std::filesystem::path& vocab_dir);

/// Writes the text of `file` (.h5 or .bin) to `text`, which appears when it is complete. Returns
/// the bytes written. Throws Error(rank) for a token that `texts` lacks, and for a .h5 file whose
/// checksum differs.
std::int64_t detokenize(const std::filesystem::path& file, const std::vector<std::string>& texts,
                        const std::filesystem::path& text);

}  // namespace tenax::io
