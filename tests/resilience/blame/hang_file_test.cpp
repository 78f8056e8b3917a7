#include "resilience/blame/hang_file.hpp"

#include <gtest/gtest.h>

#include "resilience/blame/culprits.hpp"
#include "resilience/blame/hang_picture.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"
#include "tests/resilience/blame/simulated_hang.hpp"

namespace tenax::resilience {
namespace {

class HangFile : public io::DirectoryTest {
 protected:
  static HangDump some_hang() {
    return *simulate_hang({.tensor = 2, .data = 2, .pipeline = 2, .replicas = 2}, {.rank = 5, .at = 12}, 1);
  }
  /// What is wrong with a file of that text.
  std::string fault_of(const std::string& text) const {
    const auto file = directory_ / "hang-0.json";
    io::write_file(file, text);
    return io::error_of([&] { read_hang(file); });
  }
  static std::string replaced(std::string text, const std::string& old, const std::string& now) {
    const std::size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return at == std::string::npos ? text : text.replace(at, old.size(), now);
  }
};

TEST_F(HangFile, reads_back_what_was_written) {
  const HangDump dump = some_hang();
  const auto file = record_hang(directory_, dump, find_culprits(dump));
  EXPECT_EQ(file.filename(), "hang-0.json");
  EXPECT_EQ(hang_text(read_hang(file)), hang_text(dump));
  EXPECT_EQ(find_culprits(read_hang(file)).culprits.front().rank, 5);
}

TEST_F(HangFile, each_hang_gets_a_number_of_its_own_and_the_last_one_of_a_run_is_found) {
  const HangDump dump = some_hang();
  const auto replica = directory_ / "replica-1";
  std::filesystem::create_directories(replica);
  record_hang(replica, dump, find_culprits(dump));
  const auto second = record_hang(replica, dump, find_culprits(dump));
  EXPECT_EQ(second.filename(), "hang-1.json");
  std::filesystem::last_write_time(second,
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(last_hang_of_run(directory_), second);
  EXPECT_NE(io::error_of([&] { last_hang_of_run(replica); }).find("has no record of a hang"),
            std::string::npos);
}

TEST_F(HangFile, says_in_one_sentence_what_is_wrong) {
  const std::string good = hang_text(some_hang());
  EXPECT_EQ(fault_of(good), "");
  const struct {
    std::string old, now, fault;
  } cases[] = {{"{\"hang\": 1", "{\"hang\": 2", "is no record of a hang"},
               {"\"stands_s\": ", "\"stands_s\": -", "must be seconds"},
               {"\"state\": \"running\"", "\"state\": \"asleep\"", "which is none that is known"},
               {"\"channels\"", "\"channel\"", "\"channels\" is missing"},
               {"\"replica\": 0", "\"replica\": 0.5", "must be an integer"},
               {"\"seats\": [[", "\"seats\": [[9999,", "must be a list of 5"},
               {"\"kind\": \"link\", \"seats\": [[", "\"kind\": \"link\", \"seats\": [[0,1,1,-1,-1],[",
                "must have a sender and a receiver"}};
  for (const auto& c : cases)
    EXPECT_NE(fault_of(replaced(good, c.old, c.now)).find(c.fault), std::string::npos)
        << fault_of(replaced(good, c.old, c.now));
}

TEST_F(HangFile, refuses_places_that_are_not_there) {
  const std::string good = hang_text(some_hang());
  EXPECT_NE(fault_of(replaced(good, "\"seats\": [[0,", "\"seats\": [[16,")).find("from 0 to 15"),
            std::string::npos);
  EXPECT_NE(fault_of(replaced(good, "[\"pass\",", "[\"send\",")).find("unless it is a pass"),
            std::string::npos);
  EXPECT_NE(fault_of("[1]").find("is no record of a hang"), std::string::npos);
  EXPECT_NE(fault_of("{\"hang\": 1,").find("is not valid JSON"), std::string::npos);
}

TEST_F(HangFile, its_picture_marks_the_culprit_and_names_what_the_others_wait_for) {
  HangDump dump = some_hang();
  dump.ranks[5].host = "<node&1>";
  const Blame blame = find_culprits(dump);
  const std::string svg = draw_hang_svg(dump, blame);
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_NE(svg.find("class=\"culprit\""), std::string::npos);
  EXPECT_NE(svg.find("replica 0, rank 5 (&lt;node&amp;1&gt;)"), std::string::npos);
  EXPECT_NE(svg.find("All wait for " + blame.operation), std::string::npos);
}

}  // namespace
}  // namespace tenax::resilience
