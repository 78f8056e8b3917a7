// A sample of a model's writing at the end of its run.
#pragma once

#include <filesystem>
#include <string>

#include "io/deck/deck.hpp"

namespace tenax::app {

/// Whether it is known what the model's tokens stand for, and the model is small enough to write some at the end of a run.
bool writes_text(const io::Deck& deck);

/// A short continuation of a line end by the checkpoint's model; for a terminal. The reason if there can be none: the
/// run has succeeded all the same.
std::string sample_text(const io::Deck& deck, const std::filesystem::path& checkpoint);

}  // namespace tenax::app
