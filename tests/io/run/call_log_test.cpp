#include "io/run/call_log.hpp"

#include "kernels/error.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

std::string fault_of(const TemporaryFolder& folder, const std::string& text) {
  folder.write("rank-0.csv", text);
  try {
    read_call_log(folder.path() / "rank-0.csv");
  } catch (const kernels::Error& error) {
    const std::string message = error.what();
    return message.substr(message.find("rank-0.csv"));
  }
  return "none";
}

TEST(CallLog, reads_each_kind_of_call_once) {
  const TemporaryFolder folder;
  folder.write(
      "rank-0.csv",
      "\xEF\xBB\xBF# of a test\nseconds,call,bytes,ranks\n1.5,MPI_Allreduce,4096,4\r\n\n2,MPI_Send,8,2\n"
      "2, MPI_Allreduce ,4096,4\n2.25,MPI_Allreduce,4096,2");
  const CallLog log = read_call_log(folder.path() / "rank-0.csv");
  EXPECT_EQ(log.seconds, (std::vector<double>{1.5, 2, 2, 2.25}));
  EXPECT_EQ(log.kind_of_call, (std::vector<std::uint32_t>{0, 1, 0, 2}));
  const std::vector<CallKind> kinds = {
      {"MPI_Allreduce", 4096, 4}, {"MPI_Send", 8, 2}, {"MPI_Allreduce", 4096, 2}};
  EXPECT_EQ(log.kinds, kinds);
}

TEST(CallLog, names_the_line_that_is_wrong) {
  const TemporaryFolder folder;
  const std::string header = "seconds,call,bytes,ranks\n1,A,2,3\n";
  EXPECT_EQ(fault_of(folder, ""), "rank-0.csv:1: expected the header seconds,call,bytes,ranks");
  EXPECT_EQ(fault_of(folder, "iteration,seconds\n0,1\n"),
            "rank-0.csv:1: expected the header seconds,call,bytes,ranks");
  EXPECT_EQ(fault_of(folder, "seconds,call,bytes,ranks,more\n"),
            "rank-0.csv:1: expected the header seconds,call,bytes,ranks");
  EXPECT_EQ(fault_of(folder, header + "x,A,2,3\n"),
            "rank-0.csv:3: expected seconds,call,bytes,ranks: seconds is no number");
  EXPECT_EQ(fault_of(folder, header + "nan,A,2,3\n"),
            "rank-0.csv:3: expected seconds,call,bytes,ranks: seconds is no number");
  EXPECT_EQ(fault_of(folder, header + "0.5,A,2,3\n"),
            "rank-0.csv:3: a call that began before the one above it");
  for (const std::string bad : {"2,A,2", "2,A,2,3,4", "2,,2,3", "2,A,-2,3", "2,A,2,three", "2,A,2,", "2"})
    EXPECT_EQ(
        fault_of(folder, header + bad + "\n"),
        "rank-0.csv:3: expected seconds,call,bytes,ranks: a name and two whole numbers, neither below 0");
}

TEST(CallLog, is_no_log_where_there_is_no_file) {
  EXPECT_THROW(read_call_log("/nowhere/rank-0.csv"), kernels::Error);
}

}  // namespace
}  // namespace tenax::io::test
