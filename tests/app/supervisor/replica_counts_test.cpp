#include "app/supervisor/replica_counts.hpp"

#include <gtest/gtest.h>

namespace tenax::app {
namespace {

TEST(ReplicaCounts, come_back_from_the_store) {
  const std::vector<ReplicaCounts> counts = {{0, 3, 0}, {1, 12, 2}};
  const std::vector<std::string> hosts = {"node1", "node2"};
  const std::string text = counts_text(counts, hosts);
  EXPECT_EQ(parse_counts(text), counts);
  EXPECT_EQ(parse_hosts_out(text), hosts);
}

TEST(ReplicaCounts, are_none_where_the_store_has_something_else) {
  for (const char* text : {"", "[]", "{}", "x", R"({"replicas": [{"replica": 0}], "hosts_out": [1]})"}) {
    EXPECT_TRUE(parse_counts(text).empty()) << text;
    EXPECT_TRUE(parse_hosts_out(text).empty()) << text;
  }
}

}  // namespace
}  // namespace tenax::app
