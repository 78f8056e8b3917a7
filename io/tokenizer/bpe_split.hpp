// Cuts a text into words, as GPT-2 does before it merges bytes. This is OpenAI's regular
// expression, by hand,
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// on any bytes. A byte outside of valid UTF-8 is neither letter nor number nor space, as for
// Python's regex after decoding with errors="surrogateescape". Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenax::io {

/// The end of the first word of [begin, end), which is not empty.
const char* word_end(const char* begin, const char* end);

/// The last place where `text` may be cut: both sides then give the words of the whole, whatever
/// follows `text`. Never within kEndOfText; 0 if there is no such place.
std::size_t last_cut_between_words(std::string_view text);

}  // namespace tenax::io
