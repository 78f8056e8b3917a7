#include "io/deck/delay_trace.hpp"

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

DelayTrace read(const std::string& text) {
  const TemporaryFolder folder;
  return read_delay_trace(folder.write("t.csv", text));
}

/// The message after the file's name.
std::string refused(const std::string& text) {
  const TemporaryFolder folder;
  const auto file = folder.write("t.csv", text);
  const auto [message, status] = error_of([&] { read_delay_trace(file); });
  EXPECT_EQ(status, 1);
  EXPECT_TRUE(message.starts_with(file.string() + ":")) << message;
  return message.substr(file.string().size());
}

TEST(DelayTrace, is_a_step_function_whose_last_value_holds_for_ever) {
  const DelayTrace trace({{1, 10}, {2.5, 20}, {3, 0}, {4, 7}});
  EXPECT_EQ(trace.delay_ms_at(0), 0);
  EXPECT_EQ(trace.delay_ms_at(0.999), 0);
  EXPECT_EQ(trace.delay_ms_at(1), 10);
  EXPECT_EQ(trace.delay_ms_at(2.4), 10);
  EXPECT_EQ(trace.delay_ms_at(2.5), 20);
  EXPECT_EQ(trace.delay_ms_at(3.9), 0);
  EXPECT_EQ(trace.delay_ms_at(4), 7);
  EXPECT_EQ(trace.delay_ms_at(1e9), 7);
}

TEST(DelayTrace, is_read_with_or_without_a_header_whatever_the_line_ends) {
  for (const char* text : {"seconds,delay_ms\n0,1.5\n10,2e1\n", "0,1.5\n10,20",
                           "# made by hand\r\n\r\n"
                           " seconds , delay_ms\r\n 0 , 1.5\r\n"
                           "10,20.0\r\n"}) {
    const DelayTrace trace = read(text);
    ASSERT_EQ(trace.points().size(), 2U) << text;
    EXPECT_EQ(trace.points()[0].delay_ms, 1.5);
    EXPECT_EQ(trace.points()[1].seconds, 10);
    EXPECT_EQ(trace.points()[1].delay_ms, 20);
  }
}

TEST(DelayTrace, names_the_line_of_what_it_cannot_read) {
  const std::string expected = ": expected seconds,delay_ms: two numbers, neither below 0";
  EXPECT_EQ(refused("0,1\n1\n"), ":2" + expected);
  EXPECT_EQ(refused("0,1,2\n"), ":1" + expected);
  EXPECT_EQ(refused("-1,1\n"), ":1" + expected);
  EXPECT_EQ(refused("0,-1\n"), ":1" + expected);
  EXPECT_EQ(refused("0,inf\n"), ":1" + expected);
  EXPECT_EQ(refused("0,nan\n"), ":1" + expected);
  EXPECT_EQ(refused("0,1e999\n"), ":1" + expected);
  EXPECT_EQ(refused("0,\n"), ":1" + expected);
  EXPECT_EQ(refused("time,delay\n0,1\n"), ":1" + expected);
  EXPECT_EQ(refused("0,1\nseconds,delay_ms\n"), ":2" + expected);
  EXPECT_EQ(refused("seconds,delay_ms\n\n2,1\n1,1\n"), ":4: times must ascend");
  EXPECT_EQ(refused("0,1\n0,2\n"), ":2: times must ascend");
  EXPECT_EQ(refused("seconds,delay_ms\n"), ": holds no line of seconds,delay_ms");
  EXPECT_EQ(refused(""), ": holds no line of seconds,delay_ms");
}

}  // namespace
}  // namespace tenax::io::test
