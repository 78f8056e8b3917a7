// The nearest known name, for messages about unknown ones.
#pragma once

#include <string>
#include <vector>

namespace tenax::io {

/// Insertions, deletions, substitutions and swaps of neighbours that turn a into b (optimal string alignment).
int edit_distance(const std::string& a, const std::string& b);

std::string nearest_section(const std::string& name);
/// As "section.key". Keys of other sections count as two edits further, so that a key in the wrong section
/// is found there.
std::string nearest_key(const std::string& section, const std::string& name);

}  // namespace tenax::io
