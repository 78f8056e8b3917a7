// The layout of a run on the emulated device: times and sizes are the deck's.
#pragma once

#include "app/layout.hpp"

namespace tenax::app {

/// Throws Error(usage) for what the deck cannot have. Called by plan_layout.
Layout plan_emulated_layout(const io::Deck& deck);

}  // namespace tenax::app
