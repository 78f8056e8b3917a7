// Ports as texts, and which of them two hosts connect.
#include "comm/verbs/port_address.hpp"

#include "tests/comm/verbs/verbs_pair.hpp"

namespace tenax::comm::verbs {
namespace {

class PortAddresses : public VerbsTest {
 protected:
  PortAddress port(std::uint64_t subnet = 0, LinkLayer layer = LinkLayer::ethernet) {
    Port port = fake_port(device);
    port.subnet_prefix = subnet;
    port.link_layer = layer;
    port.lid = 77;
    return PortAddress(port);
  }
  std::shared_ptr<Device> device = Device::open("fake0");
};

TEST_F(PortAddresses, a_text_means_the_port_it_was_written_of) {
  for (const PortAddress& each : {port(), port(0xfe80000000000000), port(1, LinkLayer::infiniband)})
    EXPECT_EQ(PortAddress::parse(each.text()), each);
}

TEST_F(PortAddresses, no_other_text_is_a_port) {
  const std::string good = port().text();
  ASSERT_TRUE(PortAddress::parse(good));
  for (std::size_t cut = 0; cut + 7 < good.size(); ++cut)
    EXPECT_FALSE(PortAddress::parse(good.substr(0, cut)));
  EXPECT_FALSE(PortAddress::parse(good + " more"));
  EXPECT_FALSE(PortAddress::parse("tcp" + good));
  for (const auto& [word, other] : {std::pair("1024", "1023"),
                                    {"77", "65536"},
                                    {"77", "-1"},
                                    {"ffff", "ffgf"},
                                    {"1024 77 0", "1024 77 -1"}}) {
    std::string bad = good;
    bad.replace(bad.find(word), std::string(word).size(), other);
    EXPECT_FALSE(PortAddress::parse(bad)) << bad;
  }
}

TEST_F(PortAddresses, one_subnet_comes_before_a_router_and_another_layer_never) {
  const PortAddress near = port(1), far = port(2), other = port(1, LinkLayer::infiniband);
  EXPECT_EQ(port_pairs({near}, {far, near}, 0), (std::vector<PortPair>{{0, 1}, {0, 0}}));
  EXPECT_EQ(port_pairs({near}, {far, near}, 1), (std::vector<PortPair>{{0, 1}, {0, 0}}))
      << "the only good one";
  EXPECT_EQ(port_pairs({near}, {other, far}, 0), (std::vector<PortPair>{{0, 1}}));
  EXPECT_TRUE(port_pairs({near}, {other}, 0).empty());
  EXPECT_TRUE(port_pairs({}, {near}, 0).empty());
}

TEST_F(PortAddresses, turns_take_every_port_before_any_of_them_twice) {
  const std::vector<PortAddress> two(2, port()), three(3, port());
  for (const auto& [mine, theirs] : {std::pair(two, two), {two, three}, {three, two}, {three, three}}) {
    std::set<std::size_t> connecting, accepting;
    for (std::size_t turn = 0; turn < std::min(mine.size(), theirs.size()); ++turn) {
      const PortPair pair = port_pairs(mine, theirs, turn).front();
      EXPECT_TRUE(connecting.insert(pair.connecting).second);
      EXPECT_TRUE(accepting.insert(pair.accepting).second);
    }
    std::set<std::pair<std::size_t, std::size_t>> all;
    for (std::size_t turn = 0; turn < mine.size() * theirs.size(); ++turn) {
      const std::vector<PortPair> pairs = port_pairs(mine, theirs, turn);
      EXPECT_EQ(pairs.size(), mine.size() * theirs.size()) << "each is a way";
      all.emplace(pairs.front().connecting, pairs.front().accepting);
    }
    EXPECT_EQ(all.size(), mine.size() * theirs.size());
  }
}

}  // namespace
}  // namespace tenax::comm::verbs
