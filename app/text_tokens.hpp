// Text in and out of models whose tokens are bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/deck.hpp"

namespace tenax::app {

/// Whether the deck's model is trained on text as bytes, and small enough to write some at the end of a run.
bool writes_text(const io::Deck& deck);

std::vector<std::int32_t> tokens_of_text(const std::string& text);
/// Bytes that would disturb a terminal (and tokens that are no bytes) are shown as '?'.
std::string printable(std::int32_t token);

/// A short continuation of a line end by the checkpoint's model.
std::string sample_text(const std::filesystem::path& checkpoint);

}  // namespace tenax::app
