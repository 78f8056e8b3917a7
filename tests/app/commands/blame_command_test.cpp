#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "resilience/blame/hang_file.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;
using namespace resilience;

class BlameCommand : public io::DirectoryTest {
 protected:
  // Rank 1 is in a pass, for which rank 0 waits.
  BlameCommand() {
    dump_.replica = 1;
    for (int rank = 0; rank < 2; ++rank)
      dump_.ranks.push_back(
          {.replica = 1, .rank = rank, .host = "node" + std::to_string(rank), .stands_s = 4, .open = {}});
    dump_.ranks[0].open = {{.kind = OperationKind::all_reduce,
                            .label = {},
                            .channel = 0,
                            .seconds = 4,
                            .attention = Attention::stands}};
    dump_.ranks[1].open = {{.kind = OperationKind::pass, .label = "B2", .seconds = 4}};
    dump_.channels = {{"tensor@0", ChannelKind::group, {{.rank = 0, .started = 1}, {.rank = 1}}}};
    fs::create_directories(directory_ / "replica-1");
    file_ = record_hang(directory_ / "replica-1", dump_, find_culprits(dump_));
  }
  std::string output_of(const Arguments& arguments) const {
    testing::internal::CaptureStdout();
    EXPECT_EQ(blame_command(arguments), 0);
    return testing::internal::GetCapturedStdout();
  }

  HangDump dump_;
  fs::path file_;
};

TEST_F(BlameCommand, prints_the_contracts_members_of_a_runs_last_hang) {
  const auto report = nlohmann::json::parse(output_of({directory_.string(), "--json"}));
  ASSERT_EQ(report["culprits"].size(), 1U);
  EXPECT_EQ(report["culprits"][0], nlohmann::json::parse("{\"replica\": 1, \"rank\": 1, \"host\": \"node1\", "
                                                         "\"operation\": \"pass B2 does not end\"}"));
  EXPECT_EQ(report["waiting_ranks"], 1);
  EXPECT_EQ(output_of({file_.string(), "--json"}), output_of({directory_.string(), "--json"}));
}

TEST_F(BlameCommand, says_in_words_who_and_why) {
  EXPECT_NE(
      output_of({file_.string()}).find("replica 1, rank 1 on node1: pass B2 does not end (1 ranks wait)"),
      std::string::npos);
}

TEST_F(BlameCommand, says_that_a_run_has_no_hang) {
  EXPECT_NE(io::error_of([&] {
              blame_command({(directory_ / "replica-1").string()});
            }).find("has no record of a hang"),
            std::string::npos);
}

TEST_F(BlameCommand, names_a_file_that_cannot_be_looked_at) {
  const fs::path loop = directory_ / "loop";
  fs::create_symlink("loop", loop);
  EXPECT_NE(io::error_of([&] { blame_command({loop.string()}); }).find(loop.string()), std::string::npos);
}

}  // namespace
}  // namespace tenax::app
