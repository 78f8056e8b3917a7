// `tenax evaluate CKPT --data FILE`: how well a checkpoint's model predicts a text.
#pragma once

#include <string>
#include <vector>

namespace tenax::app {

/// Throws Error.
int evaluate_command(const std::vector<std::string>& arguments);

}  // namespace tenax::app
