#include "io/store_url.hpp"

#include <gtest/gtest.h>

namespace tenax::io::test {
namespace {

TEST(StoreUrl, names_members_and_prefix) {
  const ParsedStoreUrl parsed = parse_store_url("etcd://h1:2379,10.0.0.2:2380,[fd00::2]:1/runs/gpt-2_a.b");
  EXPECT_EQ(parsed.fault, "");
  EXPECT_EQ(parsed.url,
            (StoreUrl{.is_etcd = true,
                      .has_tls = false,
                      .endpoints = {"http://h1:2379", "http://10.0.0.2:2380", "http://[fd00::2]:1"},
                      .prefix = "runs/gpt-2_a.b"}));
}

TEST(StoreUrl, asks_for_tls_by_its_scheme) {
  const ParsedStoreUrl parsed = parse_store_url("etcds://h:65535/p");
  EXPECT_EQ(parsed.fault, "");
  EXPECT_TRUE(parsed.url.is_etcd && parsed.url.has_tls);
  EXPECT_EQ(parsed.url.endpoints, std::vector<std::string>{"https://h:65535"});
}

TEST(StoreUrl, may_be_a_file) {
  EXPECT_EQ(parse_store_url("file").fault, "");
  EXPECT_EQ(parse_store_url("file").url, StoreUrl{});
}

TEST(StoreUrl, is_refused_where_anything_is_missing_or_strange) {
  for (const char* text : {"",
                           "File",
                           "file:x",
                           "etcd:",
                           "etcd://",
                           "etcd:///p",
                           "etcd://h/p",
                           "etcd://h:1",
                           "etcd://h:1/",
                           "etcd://h:0/p",
                           "etcd://h:65536/p",
                           "etcd://h:1x/p",
                           "etcd://h:-1/p",
                           "etcd://:1/p",
                           "etcd://h:1,/p",
                           "etcd://,h:1/p",
                           "etcd://h:1/p/",
                           "etcd://h:1/p q",
                           "etcd://h:1/p?x",
                           "etcd://u@h:1/p",
                           "http://h:1/p",
                           "ETCD://h:1/p",
                           "etcd://[]:1/p",
                           "etcd://h 1:1/p"})
    EXPECT_NE(parse_store_url(text).fault, "") << text;
}

}  // namespace
}  // namespace tenax::io::test
