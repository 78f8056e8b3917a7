#include "io/json_parse.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

TEST(ParseJson, builds_what_the_library_builds) {
  const std::string text =
      R"({"a": [1, -2, 3.5, true, null, "\u00e9", {}, []], "b": {"c": {"d": 18446744073709551615}}, "": [[1], [2]]})";
  const auto parsed = parse_json(text);
  EXPECT_EQ(parsed.fault, "");
  EXPECT_EQ(parsed.value, nlohmann::json::parse(text));
  EXPECT_EQ(parse_json("3").value, 3);
}

TEST(ParseJson, says_where_a_fault_is_and_quotes_no_library) {
  EXPECT_EQ(parse_json("{\n  \"a\": x}").fault, "is not valid JSON (line 2, column 8)");
  EXPECT_EQ(parse_json("").fault, "is not valid JSON (line 1, column 1)");
  EXPECT_EQ(parse_json("[1]]").fault, "is not valid JSON (line 1, column 4)");
  EXPECT_EQ(parse_json("[1e999]").value, nullptr);
  EXPECT_EQ(parse_json("{\"a\": 1, \"a\": 2}").fault, "names 'a' twice in one object");
}

TEST(ParseJson, refuses_what_a_recursion_could_not_bear) {
  EXPECT_EQ(parse_json(std::string(64, '[') + std::string(64, ']')).fault, "");
  EXPECT_EQ(parse_json(std::string(1'000'000, '[')).fault, "nests more than 64 levels deep");
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  EXPECT_EQ(parse_json(objects).fault, "nests more than 64 levels deep");
}

TEST(ShownJson, is_short) {
  EXPECT_EQ(shown(nlohmann::json{1, "a"}), "[1,\"a\"]");
  EXPECT_LE(shown(std::string(50'000'000, 'a')).size(), 100U);
}

TEST(JsonLines, of_a_pipe_or_a_device_are_none) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "events.jsonl";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::filesystem::path& file : {pipe, std::filesystem::path("/dev/zero"), folder.path()})
    for_each_json_line(file, [](const nlohmann::json&) { FAIL(); });
}

TEST(JsonLines, are_those_that_are_whole_objects) {
  const TemporaryFolder folder;
  int lines = 0;
  for_each_json_line(
      folder.write("x.jsonl", "{\"a\": \"x\"}\n[1]\n" + std::string(1000, '[') + "\n{\"a\": \"x\"}\n{\"a\""),
      [&](const nlohmann::json& line) {
        EXPECT_EQ(text_in(line, "a"), "x");
        EXPECT_EQ(text_in(line, "b"), "");
        ++lines;
      });
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace tenax::io::test
