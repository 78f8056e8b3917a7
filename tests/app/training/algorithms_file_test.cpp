#include "app/training/algorithms_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tenax::app {
namespace {

TEST(AlgorithmsFile, has_each_operation_once_as_the_lowest_rank_has_it) {
  const std::string
      first = "H100 | attention | engine 10\nH100 | product, m 4 | 7\n",
      second = "H100 | attention | engine 12\nH100 | product, m 8 | 9\nA100 | attention | engine 1\n";
  EXPECT_EQ(merged_algorithms({first, second}),
            "A100 | attention | engine 1\nH100 | attention | engine 10\nH100 | product, m 4 | 7\n"
            "H100 | product, m 8 | 9\n");
  EXPECT_EQ(merged_algorithms({"", ""}), "");
}

TEST(AlgorithmsFile, is_read_as_it_was_written_and_need_not_be_there) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) / ("algorithms_file_test." + std::to_string(getpid()));
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  write_algorithms(directory, "");
  EXPECT_FALSE(std::filesystem::exists(directory / "algorithms.txt"));
  EXPECT_EQ(read_algorithms(directory), "");
  write_algorithms(directory, "H100 | attention | engine 10\n");
  EXPECT_EQ(read_algorithms(directory), "H100 | attention | engine 10\n");
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tenax::app
