// `tenax generate CKPT`: samples from a checkpoint.
#pragma once

#include <string>
#include <vector>

namespace tenax::app {

/// Throws Error.
int generate_command(const std::vector<std::string>& arguments);

}  // namespace tenax::app
