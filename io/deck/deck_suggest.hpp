// The nearest known name, for messages about unknown ones.
#pragma once

#include <string>
#include <vector>

namespace tenax::io {

/// Insertions, deletions, substitutions and swaps of neighbours that turn a into b (optimal string alignment).
int edit_distance(const std::string& a, const std::string& b);
/// How far `name` is from what was meant where that is `known`: the edit distance, or less where every word of `name`
/// begins one of `known`, in order, as those of "num_heads" do in "num_attention_heads". Words end at _, - and blanks.
int distance_from_meant(const std::string& name, const std::string& known);

/// The likeliest of `known`; empty if there is none, or `name` is longer than any name.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);
std::string nearest_section(const std::string& name);
/// As "section.key". Keys of other sections count as two edits further, so that a key in the wrong section
/// is found there. Other trainers' names ("learning_rate", "n_embd") are known.
std::string nearest_key(const std::string& section, const std::string& name);

/// "; did you mean NAME?", or where `name` is empty nothing.
std::string did_you_mean(const std::string& name);

}  // namespace tenax::io
