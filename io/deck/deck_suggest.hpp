// The nearest known name, for messages about unknown ones.
#pragma once

#include <string>
#include <vector>

namespace tenax::io {

/// The number of insertions, deletions, substitutions and swaps of neighbours that turn a into b
/// (optimal string alignment).
int edit_distance(const std::string& a, const std::string& b);
/// The distance from `name` to `known`, if that was meant. It is the edit distance, or less where
/// each word of `name` begins a word of `known`, in order: "num_heads", "num_attention_heads".
/// Words end at _, - and blanks.
int distance_from_meant(const std::string& name, const std::string& known);

/// The likeliest of `known`. Empty if none is likely, or if `name` is longer than any name.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);
std::string nearest_section(const std::string& name);
/// The likeliest key, as "section.key". A key of another section counts as two edits further, so
/// that a key in the wrong section is found; but not one that shares nothing with `name`. Other
/// trainers' names ("learning_rate", "n_embd") are known.
std::string nearest_key(const std::string& section, const std::string& name);

/// "; did you mean NAME?", or nothing where `name` is empty.
std::string did_you_mean(const std::string& name);

}  // namespace tenax::io
