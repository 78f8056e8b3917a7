// tenax tokenize: texts to a token file, and back.
#pragma once

#include <string>
#include <vector>

namespace tenax::app {

int tokenize_command(const std::vector<std::string>& arguments);

}  // namespace tenax::app
