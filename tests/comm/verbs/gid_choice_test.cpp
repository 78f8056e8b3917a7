#include "comm/verbs/gid_choice.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace tenax::comm::verbs {
namespace {

Gid gid(const char* ipv6) {
  Gid bytes{};
  EXPECT_EQ(inet_pton(AF_INET6, ipv6, bytes.data()), 1) << ipv6;
  return bytes;
}

GidEntry v1(int index, const char* address) { return {index, gid(address), false}; }
GidEntry v2(int index, const char* address) { return {index, gid(address), true}; }

int index_of(const GidChoice& choice) { return choice.entry ? choice.entry->index : -1; }

const std::vector<GidEntry> kMellanox = {
    v1(0, "fe80::1"),
    v2(1, "fe80::1"),
    v1(2, "fd00::5"),
    v2(3, "fd00::5"),
    v1(4, "::ffff:10.0.0.5"),
    v2(5, "::ffff:10.0.0.5"),
    v2(7, "::ffff:192.168.1.5"),
};

TEST(GidChoice, is_roce_v2_over_ipv4_before_ipv6_and_never_link_local) {
  EXPECT_EQ(index_of(choose_gid(kMellanox, LinkLayer::ethernet, {})), 5);
  EXPECT_EQ(
      index_of(choose_gid({v2(1, "fe80::1"), v1(2, "fd00::5"), v2(3, "fd00::5")}, LinkLayer::ethernet, {})),
      3);
  const GidChoice none = choose_gid({v2(0, "fe80::1"), v1(1, "::ffff:10.0.0.5")}, LinkLayer::ethernet, {});
  EXPECT_EQ(none.obstacle, "has no RoCE v2 address (an IP address that is not link-local)");
  EXPECT_FALSE(none.entry);
  EXPECT_FALSE(choose_gid({}, LinkLayer::ethernet, {}).entry);
}

TEST(GidChoice, keeps_to_the_addresses_that_are_allowed) {
  const auto with = [](std::vector<std::string> addresses) {
    return choose_gid(kMellanox, LinkLayer::ethernet, {-1, std::move(addresses)});
  };
  EXPECT_EQ(index_of(with({"192.168.1.5"})), 7);
  EXPECT_EQ(index_of(with({"fd00::5"})), 3);
  EXPECT_EQ(index_of(with({"fd00::5", "192.168.1.5"})), 7) << "IPv4 first";
  EXPECT_EQ(index_of(with({"fe80::1"})), -1) << "link-local, whoever allows it";
  EXPECT_EQ(with({"10.0.0.6"}).obstacle, "has no RoCE v2 address of comm.interfaces");
  EXPECT_FALSE(with({}).entry) << "interfaces that have no address now";
}

TEST(GidChoice, takes_the_row_that_is_named_whatever_it_holds) {
  EXPECT_EQ(index_of(choose_gid(kMellanox, LinkLayer::ethernet, {0, {}})), 0);
  EXPECT_EQ(index_of(choose_gid(kMellanox, LinkLayer::ethernet, {7, {{"10.0.0.5"}}})), 7);
  EXPECT_EQ(choose_gid(kMellanox, LinkLayer::ethernet, {6, {}}).obstacle, "has nothing at GID index 6");
}

TEST(GidChoice, is_the_first_row_on_infiniband) {
  const std::vector<GidEntry> table = {v1(0, "fe80::7cfe:9003:26:1"), v1(1, "fec0::1")};
  EXPECT_EQ(index_of(choose_gid(table, LinkLayer::infiniband, {})), 0);
  EXPECT_EQ(index_of(choose_gid(table, LinkLayer::infiniband, {-1, {{"10.0.0.5"}}})), 0)
      << "addresses are RoCE's";
  EXPECT_EQ(choose_gid({}, LinkLayer::infiniband, {}).obstacle, "has nothing at GID index 0");
}

TEST(GidChoice, reads_the_ip_address_in_a_gid) {
  EXPECT_EQ(ip_text(gid("::ffff:10.0.0.5")), "10.0.0.5");
  EXPECT_EQ(ip_text(gid("fd00::5")), "fd00::5");
}

}  // namespace
}  // namespace tenax::comm::verbs
