// How GPT-2 cuts a text into words before it merges bytes: OpenAI's regular expression, by hand,
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// on any bytes: one that is not part of valid UTF-8 is neither letter nor number nor space, as Python's regex sees
// it after decoding with errors="surrogateescape". Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenax::io {

/// Where the first word of [begin, end), which is not empty, ends.
const char* word_end(const char* begin, const char* end);

/// The last place of `text` where it may be cut and both sides still give the words of the whole, whatever follows
/// `text`; never within kEndOfText. 0 if there is none.
std::size_t last_cut_between_words(std::string_view text);

}  // namespace tenax::io
