#include "io/json.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/json_parse.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

TEST(Json, writes_numbers_in_their_shortest_form_that_reads_back_the_same) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(3), "3");
  EXPECT_EQ(number_text(1e-8), "1e-08");
  EXPECT_EQ(number_text(-0.0), "-0");
  for (const double value :
       {1.0 / 3, 5e-324, 1.7976931348623157e308, 2.5066282746310002, 1e22, 123456789012345680.0}) {
    EXPECT_EQ(std::strtod(number_text(value).c_str(), nullptr), value);
    EXPECT_EQ(nlohmann::json::parse(number_text(value)).get<double>(), value);
  }
}

TEST(Json, writes_null_for_what_is_not_finite) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(JsonObject().add("a", infinity).add("b", -infinity).add("c", std::nan("")).text(),
            R"({"a": null, "b": null, "c": null})");
}

TEST(Json, keeps_the_order_and_the_types_of_members) {
  const JsonObject inner = JsonObject().add("x", std::int64_t{9223372036854775807});
  EXPECT_EQ(
      JsonObject().add("b", true).add("a", "text").add("o", inner).append(JsonObject().add("z", 1)).text(),
      R"({"b": true, "a": "text", "o": {"x": 9223372036854775807}, "z": 1})");
  EXPECT_EQ(JsonObject().text(), "{}");
  EXPECT_EQ(JsonObject().append(inner).append(JsonObject()).text(), inner.text());
}

TEST(Json, writes_lists_by_the_type_of_their_elements) {
  EXPECT_EQ(JsonObject()
                .add("d", std::vector<double>{0.5, std::nan("")})
                .add("i", std::vector<std::int64_t>{1, -2})
                .add("s", std::vector<std::string>{"a\"", "b"})
                .add("o", std::vector<JsonObject>{JsonObject().add("x", 1), {}})
                .add("e", std::vector<double>{})
                .text(),
            R"({"d": [0.5, null], "i": [1, -2], "s": ["a\"", "b"], "o": [{"x": 1}, {}], "e": []})");
}

TEST(Json, escapes_strings_so_that_they_read_back_the_same) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80";
  EXPECT_EQ(nlohmann::json::parse(json_string(all)).get<std::string>(), all);
  EXPECT_EQ(json_string("a\"b\\c\n"), R"("a\"b\\c\n")");
}

TEST(Json, replaces_bytes_that_are_not_utf8) {
  const std::string replacement = "\xEF\xBF\xBD";
  // A stray byte, a cut sequence, an overlong one, a surrogate, one beyond U+10FFFF.
  for (const std::string bad :
       {"\xFF", "\xE2\x82", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    const std::string text = nlohmann::json::parse(json_string("<" + bad + ">")).get<std::string>();
    EXPECT_EQ(text.substr(0, 4), "<" + replacement) << text;
    EXPECT_EQ(text.back(), '>');
  }
}

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
