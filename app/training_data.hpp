// What data.train and data.validation name, as samples, for all ranks of a run.
#pragma once

#include <vector>

#include "comm/control_group.hpp"
#include "io/deck.hpp"
#include "io/token_blend.hpp"

namespace tenax::app {

/// Collective. Rank 0 says which files there are; every rank opens each, and closes it again until it is read. A set of up
/// to some 10^9 tokens is looked at whole, each rank its share; of each file of a larger one the beginning is, and every
/// window when it is read, so that a token beyond the vocabulary is an error in any case. Throws
/// comm::AgreedError naming the file.
std::vector<io::TokenBlend::Source> open_sources(comm::ControlGroup& control,
                                                 const std::vector<io::DataSource>& sources,
                                                 const io::Deck& deck);

}  // namespace tenax::app
