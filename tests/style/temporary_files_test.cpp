// Users of one machine, and tests that run at once, share the folder of temporary files: a test's own have its process in
// their names, or names that nobody has.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace tenax::style {
namespace {

namespace fs = std::filesystem;

/// The statements, from where they ask for that folder, that name nothing of their own in it.
std::vector<std::string> shared_names(const std::string& text) {
  const std::regex folder(R"((temp_directory_path|TempDir)\(\)[^;]*;)"), own("getpid|XXXXXX");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), folder), end; at != end; ++at)
    if (const std::string statement = at->str(); !std::regex_search(statement, own))
      found.push_back(statement);
  return found;
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(TemporaryFiles, of_tests_are_nobody_elses) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(TENAX_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    ++files;
    for (const std::string& statement : shared_names(text_of(entry.path())))
      ADD_FAILURE() << entry.path() << ": " << statement;
  }
  EXPECT_GT(files, 100);
}

}  // namespace
}  // namespace tenax::style
