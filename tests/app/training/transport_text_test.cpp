#include "app/training/transport_text.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"

namespace tenax::app {
namespace {

using comm::TransportKind;

comm::VerbsPort port(const std::string& name, int mtu_bytes, const std::string& obstacle = {}) {
  comm::VerbsPort port;
  port.name = name;
  port.link_layer = "Ethernet";
  port.mtu_bytes = mtu_bytes;
  port.obstacle = obstacle;
  return port;
}

RankPorts ports_of(int rank, const std::string& host, const std::vector<comm::VerbsPort>& ports) {
  return RankPorts::of(rank, host, &ports);
}

const RankPorts kOne = ports_of(0, "a", {port("mlx5_0:1", 4096), port("mlx5_1:1", 1024)}),
                kOther = ports_of(1, "b", {port("mlx5_0:1", 4096)}),
                kDown = ports_of(3, "c", {port("mlx5_0:1", 4096, "is DOWN")}), kNone = ports_of(2, "b", {});

TEST(TransportText, names_the_ports_of_all_ranks) {
  const TransportText text(TransportKind::automatic, {kOne, kOther});
  EXPECT_EQ(text.line(),
            "comm     verbs over mlx5_0:1, mlx5_1:1 (RoCE v2, MTU 1024); shared memory within hosts");
  EXPECT_EQ(text.json().text(), R"({"kind": "verbs", "ports": ["mlx5_0:1", "mlx5_1:1"], "reason": null})");
}

TEST(TransportText, says_why_there_is_no_rdma_the_first_reason_first) {
  const TransportText down(TransportKind::automatic, {kDown, kNone});
  EXPECT_EQ(down.line(), "comm     tcp (no verbs: rank 3 (c): mlx5_0:1 is DOWN); shared memory within hosts");
  EXPECT_EQ(down.json().text(), R"({"kind": "tcp", "ports": [], "reason": "rank 3 (c): mlx5_0:1 is DOWN"})");
  const TransportText none(TransportKind::automatic, {kNone, kDown});
  EXPECT_EQ(none.line(),
            "comm     tcp (no verbs: rank 2 (b): it has no RDMA device); shared memory within hosts");
  const TransportText without(TransportKind::automatic, {RankPorts::of(0, "a", nullptr), kOther});
  EXPECT_NE(without.line().find("built without verbs"), std::string::npos);
}

TEST(TransportText, counts_the_pairs_that_go_over_tcp) {
  EXPECT_EQ(TransportText(TransportKind::automatic, {kOne, kOther, kNone, kDown}).line(),
            "comm     verbs over mlx5_0:1, mlx5_1:1 (RoCE v2, MTU 1024); tcp between 4 pairs (rank 0 (a) - "
            "rank 2 (b): it has no RDMA device); shared memory within hosts");
}

TEST(TransportText, tells_ranks_for_which_the_deck_names_no_port_from_hosts_without_one) {
  const std::vector<comm::VerbsPort> none;
  EXPECT_EQ(RankPorts::of(2, "a", &none, 2).obstacle, "verbs.devices names none for rank 2 of its host");
  const std::vector<comm::VerbsPort> down{port("mlx5_0:1", 4096, "is DOWN")};
  EXPECT_EQ(RankPorts::of(2, "a", &down, 2).obstacle, "mlx5_0:1 is DOWN");
}

TEST(TransportText, counts_pairs_whose_ports_have_different_links) {
  comm::VerbsPort infiniband = port("ib0:1", 4096);
  infiniband.link_layer = "InfiniBand";
  const RankPorts other_link = ports_of(2, "c", {infiniband});
  const TransportText text(TransportKind::automatic, {kOne, kOther, other_link});
  const std::string first = "rank 0 (a) - rank 2 (c): the one has RoCE v2, the other InfiniBand";
  EXPECT_EQ(text.line(),
            "comm     verbs over mlx5_0:1, mlx5_1:1, ib0:1 (RoCE v2, MTU 1024); tcp between 2 pairs (" +
                first + "); shared memory within hosts");
  EXPECT_NE(text.json().text().find(first), std::string::npos);
  const RankPorts both = ports_of(2, "c", {infiniband, port("mlx5_0:1", 4096)});
  EXPECT_EQ(RankPorts::parse(both.text()).links, both.links);
  EXPECT_EQ(TransportText(TransportKind::automatic, {kOther, both}).line().find("tcp"), std::string::npos);
}

TEST(TransportText, is_short_where_all_go_one_way) {
  EXPECT_EQ(TransportText(TransportKind::tcp, {kOne}).line(), "comm     tcp");
  EXPECT_EQ(TransportText(TransportKind::shared_memory, {kOne}).line(), "comm     shared memory");
  EXPECT_EQ(TransportText(TransportKind::automatic, {kOther, kNone}).line(),
            "comm     shared memory within hosts");
  EXPECT_EQ(TransportText(TransportKind::verbs, {kOther}).line(),
            "comm     verbs over mlx5_0:1 (RoCE v2, MTU 4096)");
}

TEST(TransportText, survives_the_way_to_other_ranks) {
  for (const RankPorts& ports : {kOne, kDown, kNone})
    EXPECT_EQ(RankPorts::parse(ports.text()).text(), ports.text());
}

TEST(TransportText, of_a_rank_whose_text_is_garbled_is_refused) {
  std::string text = kOne.text();
  text.replace(0, 1, "x");
  EXPECT_THROW(RankPorts::parse(text), kernels::Error);
  EXPECT_THROW(RankPorts::parse(""), kernels::Error);
}

}  // namespace
}  // namespace tenax::app
