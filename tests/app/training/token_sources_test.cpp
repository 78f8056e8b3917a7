#include "app/training/token_sources.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tenax::app {
namespace {

using Sources = std::vector<io::TokenBlend::Source>;
using File = std::pair<std::string, std::size_t>;  // its name and its tokens

/// One source for each entry.
Sources sources_of(const std::vector<std::vector<File>>& entries) {
  Sources sources;
  for (const auto& files : entries) {
    sources.emplace_back();
    for (const auto& [name, tokens] : files)
      sources.back().files.push_back(
          io::TokenFile::keep(std::vector<std::int32_t>(tokens, 1), name, {4, 256, false}));
  }
  return sources;
}

TEST(FilesText, is_equal_where_the_same_files_are_in_the_same_order) {
  const auto make = [] { return files_text(sources_of({{{"a", 9}, {"b", 8}}, {{"c", 7}}})); };
  EXPECT_EQ(make(), make());
}

TEST(FilesText, differs_where_a_file_has_come_gone_changed_its_size_or_its_place) {
  const std::string text = files_text(sources_of({{{"a", 9}, {"b", 8}}, {{"c", 7}}}));
  for (const Sources& others :
       {sources_of({{{"a", 9}, {"aa", 8}, {"b", 8}}, {{"c", 7}}}), sources_of({{{"b", 8}}, {{"c", 7}}}),
        sources_of({{{"a", 10}, {"b", 8}}, {{"c", 7}}}), sources_of({{{"b", 8}, {"a", 9}}, {{"c", 7}}}),
        sources_of({{{"a", 9}}, {{"b", 8}, {"c", 7}}})})
    EXPECT_NE(files_text(others), text);
}

}  // namespace
}  // namespace tenax::app
