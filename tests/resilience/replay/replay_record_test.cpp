#include "resilience/replay/replay_record.hpp"

#include "tests/io/checkpoint/checkpoint_fixture.hpp"
#include "tests/resilience/replay/made_up_records.hpp"

namespace tenax::resilience {
namespace {

class Records : public io::DirectoryTest {
 protected:
  void write(const std::vector<ReplayRecord>& records) {
    for (const ReplayRecord& record : records) {
      std::string text = text_of(record.rank) + "\n";
      for (const ReplayMoment& moment : record.moments) text += text_of(moment) + "\n";
      io::write_file(replay_file(directory_, record.rank.rank), text);
    }
  }
  std::string fault_of(const std::string& text) {
    io::write_file(replay_file(directory_, 0), text);
    return io::error_of([&] { read_replay(directory_, 1); });
  }
};

TEST_F(Records, come_back_as_they_were_written) {
  const auto records = made_up_records("alpha");
  write(records);
  const auto read = read_replay(directory_, 4);
  ASSERT_EQ(read.size(), records.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].rank, records[i].rank);
    EXPECT_EQ(read[i].moments, records[i].moments);
  }
}

TEST_F(Records, of_fewer_ranks_than_expected_are_refused) {
  write(made_up_records("alpha"));
  EXPECT_NE(io::error_of([&] { read_replay(directory_, 5); }).find("rank-4.jsonl"), std::string::npos);
}

TEST_F(Records, of_another_form_are_refused) {
  const std::string rank = R"({"rank": 0, "host": "a", "stage": 0, "tensors": ["x"], "parts": ["weight"]})";
  const std::string good = R"({"step": 1, "point": "update", "sums": "0123456789abcdef"})";
  EXPECT_EQ(fault_of(rank + "\n" + good + "\n"), "");
  const std::string sums = R"({"step": 1, "point": "update", "sums": )";
  for (const std::string& text :
       {std::string(), std::string("{}\n"), std::string("[]\n"), good, rank + "\n" + rank + "\n",
        rank + "\n" + sums + "\"\"}\n", rank + "\n" + sums + "7}\n",
        rank + "\n" + sums + "\"0123456789abcdeg\"}\n", rank + "\n" + sums + "\"0123456789abcdef0\"}\n",
        rank + "\n" + good.substr(0, 20)})
    EXPECT_NE(fault_of(text), "") << text;
}

}  // namespace
}  // namespace tenax::resilience
