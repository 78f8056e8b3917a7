// `tenax DECK`: trains one replica; every rank runs this.
#pragma once

#include <string>
#include <vector>

#include "app/build.hpp"

namespace tenax::app {

/// Returns the exit status. Errors have been reported on stderr, once for all ranks.
int train_command(const std::string& deck, const std::vector<std::string>& overrides, const Build& build);

}  // namespace tenax::app
