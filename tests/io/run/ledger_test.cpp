#include "io/run/ledger.hpp"

#include <atomic>
#include <fstream>
#include <thread>

#include "io/checksum.hpp"
#include "tests/io/run/ledger_fixture.hpp"

namespace tenax::io::test {
namespace {

namespace fs = std::filesystem;

std::string fault_of(const TemporaryFolder& folder) {
  const auto [message, status] = error_of([&] { read_ledger(folder.path()); });
  EXPECT_EQ(status, 1);
  const std::string file = ledger_of_run(folder.path()).string();
  return message.starts_with(file) ? message.substr(file.size()) : message;
}

TEST(Ledger, has_the_contracts_members_in_each_kind_of_line) {
  const TemporaryFolder folder;
  LedgerRecord commit = commit_of(7, 3, {{0, 16, 8}, {2, 24, 4}});
  std::get<LedgerCommit>(commit.what).loss = std::nan("");
  write_ledger(folder, {commit, epoch_of(4, 8, "lost", {{2, 5, "host \"b\""}}), void_of(6, 5)});
  const std::vector<std::string> lines = lines_of(folder.read("ledger.jsonl"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0],
            "{\"time\": 1800000007.125, \"step\": 7, \"epoch\": 3, \"first_sample\": 16, \"samples\": 12, "
            "\"parts\": [[0, 16, 8], [2, 24, 4]], \"loss\": null, \"grad_norm\": 8.25, \"lr\": 0.001, "
            "\"squares\": \"4051040000000000\", \"previous\": \"0000000000000000\"}");
  EXPECT_EQ(
      lines[1],
      "{\"time\": 1800000008, \"epoch\": 4, \"from_step\": 8, \"members\": [[2, 5, \"host \\\"b\\\"\"]], "
      "\"reason\": \"lost\", \"previous\": \"" +
          chain_text(lines[0]) + "\"}");
  EXPECT_EQ(lines[2], "{\"time\": 1800000006.5, \"void_from\": 6, \"epoch\": 5, \"previous\": \"" +
                          chain_text(lines[1]) + "\"}");
}

TEST(Ledger, is_chained_by_the_checksum_of_the_line_before_without_its_end) {
  const std::string line = "any line";
  EXPECT_EQ(chain_text(line), checksum_text(checksum_of_bytes(std::as_bytes(std::span(line)), 0)));
}

TEST(Ledger, reads_back_what_was_written) {
  const TemporaryFolder folder;
  write_ledger(folder, eventful_run());
  const std::vector<LedgerRecord> records = read_ledger(folder.path());
  ASSERT_EQ(records.size(), eventful_run().size());
  for (std::size_t i = 0; i < records.size(); ++i)
    EXPECT_EQ(ledger_line(records[i], ""), ledger_line(eventful_run()[i], "")) << i;
}

TEST(Ledger, goes_on_where_it_ended_also_behind_a_line_that_a_killed_writer_left) {
  const TemporaryFolder folder;
  const std::vector<LedgerRecord> all = eventful_run();
  write_ledger(folder, {all.begin(), all.begin() + 5});
  const std::string whole = folder.read("ledger.jsonl");
  folder.write("ledger.jsonl", whole + "{\"time\": 18000");
  {
    LedgerWriter writer(folder.path());
    for (std::size_t i = 5; i < all.size(); ++i) writer.append(all[i]);
    writer.sync();
  }
  EXPECT_EQ(read_ledger(folder.path()).size(), all.size());
  EXPECT_TRUE(folder.read("ledger.jsonl").starts_with(whole));
}

TEST(Ledger, that_is_absent_has_no_records) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_ledger(folder.path()).empty());
}

TEST(Ledger, is_read_on_where_it_has_grown_since) {
  const TemporaryFolder folder;
  LedgerWriter writer(folder.path());
  writer.append(eventful_run()[0]);
  LedgerReader reader(ledger_of_run(folder.path()));
  EXPECT_TRUE(reader.next());
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_FALSE(reader.next());
    writer.append(eventful_run()[i]);
    const auto record = reader.next();
    ASSERT_TRUE(record);
    EXPECT_EQ(ledger_line(*record, ""), ledger_line(eventful_run()[i], ""));
  }
  EXPECT_EQ(reader.line(), 3);
}

TEST(Ledger, is_waited_for_where_its_last_line_is_being_written) {
  const TemporaryFolder folder;
  write_ledger(folder, eventful_run());
  const std::string text = folder.read("ledger.jsonl");
  const auto file = folder.write("ledger.jsonl", text.substr(0, text.size() - 20));
  LedgerReader reader(file);
  for (std::size_t i = 1; i < eventful_run().size(); ++i) EXPECT_TRUE(reader.next());
  std::atomic<bool> is_open = false;
  std::jthread writer([&] {
    std::ofstream stream(file, std::ios::app);
    is_open = true;
    is_open.notify_one();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    stream << text.substr(text.size() - 20);
  });
  is_open.wait(false);
  EXPECT_TRUE(reader.next());
}

TEST(Ledger, is_continued_by_nobody_once_it_is_broken) {
  const TemporaryFolder folder;
  write_ledger(folder, eventful_run());
  folder.write("ledger.jsonl", replaced(folder.read("ledger.jsonl"), "\"step\": 1,", "\"step\": 9,"));
  const auto [message, status] = error_of([&] { LedgerWriter(folder.path()); });
  EXPECT_NE(message.find("ledger.jsonl:4: previous"), std::string::npos) << message;
  EXPECT_NE(message.find("; move this ledger away, for a new one to begin"), std::string::npos) << message;
}

TEST(Ledger, says_where_it_is_cut_broken_or_no_ledger) {
  const TemporaryFolder folder;
  write_ledger(folder, eventful_run());
  const std::string text = folder.read("ledger.jsonl");
  folder.write("ledger.jsonl", text.substr(0, text.size() - 1));
  EXPECT_EQ(fault_of(folder), ":13: the line is cut off");
  folder.write("ledger.jsonl", text + "\n");
  EXPECT_TRUE(fault_of(folder).starts_with(":14: it is not valid JSON"));
  folder.write("ledger.jsonl", text + "[1]\n");
  EXPECT_EQ(fault_of(folder), ":14: it is no JSON object");
  folder.write("ledger.jsonl", text.substr(text.find('\n') + 1));
  EXPECT_TRUE(fault_of(folder).starts_with(":1: previous = "));
  fs::remove(ledger_of_run(folder.path()));
  fs::create_directory(ledger_of_run(folder.path()));
  EXPECT_TRUE(fault_of(folder).starts_with("cannot read "));
}

TEST(Ledger, in_which_any_byte_of_any_line_but_the_last_is_changed_is_found_out) {
  const TemporaryFolder folder;
  const std::vector<LedgerRecord> all = eventful_run();
  write_ledger(folder, {all.begin(), all.begin() + 5});
  const std::string text = folder.read("ledger.jsonl");
  const std::size_t last_line = text.rfind('\n', text.size() - 2) + 1;
  for (std::size_t at = 0; at < last_line; ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    folder.write("ledger.jsonl", changed);
    EXPECT_THROW(read_ledger(folder.path()), kernels::Error) << "byte " << at;
  }
}

TEST(LedgerLine, is_refused_when_a_member_is_missing_unknown_or_impossible) {
  const auto expect_refused = [](const std::string& line, const std::string& sentence) {
    const auto [message, status] = error_of([&] { parse_ledger_line(line); });
    EXPECT_EQ(message.substr(0, sentence.size()), sentence);
    EXPECT_EQ(status, 1);
  };
  const std::string commit = ledger_line(commit_of(1, 1, {{0, 8, 8}}), chain_text("")),
                    epoch = ledger_line(epoch_of(1, 0, "start", {{0, 1, "a"}}), chain_text("")),
                    empty = ledger_line(void_of(1, 2), chain_text(""));
  for (const std::string& line : {commit, epoch, empty}) {
    const auto object = nlohmann::ordered_json::parse(line);
    for (const auto& [name, value] : object.items()) {
      auto lacking = object;
      lacking.erase(name);
      EXPECT_THROW(parse_ledger_line(lacking.dump()), kernels::Error) << line << name;
      for (const auto& other : {nlohmann::ordered_json(true), nlohmann::ordered_json(-1.5),
                                nlohmann::ordered_json("x"), nlohmann::ordered_json::array({1})}) {
        auto wrong = object;
        wrong[name] = other;
        const bool is_number = name == "time" || name == "loss" || name == "grad_norm" || name == "lr";
        if (is_number && other.is_number()) continue;
        EXPECT_THROW(parse_ledger_line(wrong.dump()), kernels::Error) << wrong.dump();
      }
    }
    auto more = object;
    more["colour"] = "x";
    expect_refused(more.dump(), "it has \"colour\", which no such line has");
  }
  expect_refused(replaced(commit, "\"step\": 1,", "\"step\": 18446744073709551615,"),
                 "step = 18446744073709551615 is not");
  expect_refused(replaced(commit, "[[0, 8, 8]]", "[[0, 8]]"), "parts = [[0,8]] is not a list of lists of 3");
  expect_refused(replaced(commit, "[[0, 8, 8]]", "[]"), "parts = [] is not a list of lists of 3");
  expect_refused(replaced(commit, "[[0, 8, 8]]", "[[0, -8, 8]]"),
                 "parts = -8 is not a whole number of at least 0");
  expect_refused(replaced(epoch, "\"a\"", "1"), "members = 1 is not a string");
  expect_refused(replaced(epoch, "start", "begin"), "reason = \"begin\" is none of start, lost, join, leave");
}

}  // namespace
}  // namespace tenax::io::test
