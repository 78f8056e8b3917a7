#include "app/launch/last_words.hpp"

#include <algorithm>
#include <fstream>

namespace tenax::app {

std::string last_words(const std::filesystem::path& log, std::uintmax_t from) {
  constexpr std::streamoff kMostBytes = 64 << 10;
  std::ifstream file(log, std::ios::ate);
  const std::streamoff end = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  file.seekg(std::max<std::streamoff>(static_cast<std::streamoff>(from), end - kMostBytes));
  std::string words;
  for (std::string line; std::getline(file, line);)
    if (line.find_first_not_of(" -\t\r") != std::string::npos) words = line;
  return words.empty() ? "it ended without a word; see " + log.string() : words;
}

}  // namespace tenax::app
