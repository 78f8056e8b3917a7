#include "io/deck_suggest.hpp"

#include <algorithm>
#include <limits>

#include "io/deck_key.hpp"

namespace tenax::io {

int edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<int>> distance(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      int& here = distance[i][j];
      if (i == 0 || j == 0) {
        here = static_cast<int>(i + j);
        continue;
      }
      const int substituted = distance[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      here = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, substituted});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) here = std::min(here, distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

std::string nearest_section(const std::string& name) {
  const auto& sections = deck_sections();
  return std::min_element(sections.begin(), sections.end(),
                          [&](const auto& a, const auto& b) {
                            return edit_distance(name, a.name) < edit_distance(name, b.name);
                          })
      ->name;
}

std::string nearest_key(const std::string& section, const std::string& name) {
  constexpr int kOtherSection = 2;
  int least = std::numeric_limits<int>::max();
  std::string nearest;
  for (const auto& key : deck_keys()) {
    const int distance = edit_distance(name, key.name) + (key.section == section ? 0 : kOtherSection);
    if (distance >= least) continue;
    least = distance;
    nearest = key.full_name();
  }
  return nearest;
}

}  // namespace tenax::io
