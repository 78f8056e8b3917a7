// The layout of a run on the emulated device, whose times and sizes are given.
#pragma once

#include "parallel/replica/layout.hpp"

namespace tenax::parallel {

/// `request.emulated` is there. Throws Error(usage) for what the request cannot have. Called by plan_layout.
Layout plan_emulated_layout(const LayoutRequest& request);

}  // namespace tenax::parallel
