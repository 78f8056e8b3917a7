// Texts of any size to a token file, by all cores, in bounded memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "io/tokenizer/tokenizer.hpp"
#include "io/tokens/token_sink.hpp"

namespace tenax::io {

/// Bytes of text tokenized so far. May throw, which ends the work.
using TokenizeProgress = std::function<void(std::int64_t bytes)>;

/// Appends the tokens of `texts`, one after the other, to `writer`. A document begins with each file, and after each
/// separator in a file; where the tokenizer has a separator, one is put between files, unless the first ends with one.
/// Returns the bytes read. Throws Error(rank) if a file cannot be read, or none has anything in it.
///
/// `threads` encode, the caller's reads, writes and calls `progress`; they hold a few MiB each, and room for the
/// longest word.
std::int64_t tokenize_files(const std::vector<std::filesystem::path>& texts, const Tokenizer& tokenizer,
                            TokenSink& writer, int threads, const TokenizeProgress& progress);

}  // namespace tenax::io
